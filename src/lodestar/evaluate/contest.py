"""The contest: our forecaster and the simple ones, asked the same question, each answer computed once.

Comes in: an exam and the past runs. Goes out: by name and fraction seen, every tested run's forecast in the user's
units. No simple forecaster sees more past than ours did: for a run held out by a member, the past is without all runs
which that member held out; for new runs, without the runs under test (with `which="all"`: without the run itself).
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.evaluation import OURS
from lodestar.evaluate.exam import Exam, Seen
from lodestar.evaluate.simple import SIMPLE, AbstractSimple
from lodestar.fitting.scale_law import prepared_for
from lodestar.runs.run import Run


class Contest:
    """Forecasts by name and fraction; kept, since several figures ask for the same ones."""

    def __init__(self, exam: Exam, against: Iterable[Run] | None = None):
        self.exam = exam
        self.past = None if against is None else prepared_for(exam.forecaster, against)
        self._simple = {kind.name: self._fitted(kind) for kind in SIMPLE if self.past or not kind.needs_past}
        self._kept: dict[tuple[str, float], NDArray[np.float64]] = {}
        self._seen: dict[float, Seen] = {}

    @property
    def past_runs(self) -> int:
        """How many past runs a rival may look at, at most."""
        past = () if self.past is None else self.past.names
        return max(sum(name not in names for name in past) for names in set(self.exam.hidden))

    @property
    def names(self) -> tuple[str, ...]:
        """Ours first."""
        return (OURS, *self._simple)

    def seen(self, fraction: float) -> Seen:
        """Our forecast in model units, with the members' disagreement."""
        if fraction not in self._seen:
            self._seen[fraction] = self.exam.forecast(fraction)
        return self._seen[fraction]

    def forecast(self, name: str, fraction: float) -> NDArray[np.float64]:
        """Every tested run as that forecaster sees it: (runs, points, 3), user's units."""
        key = (name, fraction)
        if key not in self._kept:
            ours = name == OURS
            self._kept[key] = self.exam.natural(self.seen(fraction).centre) if ours else self._theirs(name, fraction)
        return self._kept[key]

    def _theirs(self, name: str, fraction: float) -> NDArray[np.float64]:
        rivals = self._simple[name]
        contexts = self.exam.contexts(fraction)
        return np.stack([rival.forecast(context) for rival, context in zip(rivals, contexts, strict=True)])

    def _fitted(self, kind: type[AbstractSimple]) -> list[AbstractSimple]:
        """One for each tested run; runs with the same past share it."""
        recipe, hidden = self.exam.data.recipe, self.exam.hidden
        made = {names: kind.fit(recipe, self.past, names) for names in dict.fromkeys(hidden)}
        return [made[names] for names in hidden]
