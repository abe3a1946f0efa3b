"""What an item may use of a bench: the home of one task, its results, its forecaster, and a place for further runs.

Comes in: a home and how much may run at once. Goes out: runs, records, a forecaster. Where a home lacks what an item
asks for, the error names the command that makes it. Reads the home, never writes to it; `scratch` is the item's own.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from lodestar.forecaster import Forecaster, load
from lodestar.runs import RunSet
from lodestar.sweep import AbstractExecutor, LocalExecutor
from lodestar_bench._errors import BenchError
from lodestar_bench.entrant import Entrant
from lodestar_bench.home import BenchFacts, Home
from lodestar_bench.plan import TablePlan, records_of
from lodestar_bench.results import Record, Results
from lodestar_bench.table import Table1, table

if TYPE_CHECKING:
    from lodestar_bench.problem import AbstractProblem

FITTED = ("lodestar-plain", "lodestar", "lodestar-paper")
"""Methods of ours that fit a forecaster to runs which all may look at: what its forecasts are judged by."""
OURS = ("lodestar-tune-steered", *FITTED)
"""Methods of ours that steer, the one to show first: what Lodestar makes of a budget."""
Tell = Callable[[int, int, str], None]
"""Told of progress: done, of how many, what."""


@dataclasses.dataclass(frozen=True)
class ItemContext:
    """One task's home for one item.

    `spec` is how a worker finds the task; `seeds` how many seeds an item that trains anew should use (None: its own
    choice); `scratch` is a folder that outlives a kill, empty when the item is made for the first time.
    """

    home: Home
    spec: str
    scratch: Path
    jobs: int = 1
    seed: int = 0
    seeds: int | None = None
    tell: Tell = lambda done, of, what: None

    @functools.cached_property
    def facts(self) -> BenchFacts:
        """The task, and what was asked for."""
        return self.home.facts()

    @functools.cached_property
    def results(self) -> Results:
        """Every run so far, without curves."""
        return self.home.results(self.facts)

    @property
    def plan(self) -> TablePlan:
        """The protocol."""
        return self.facts.plan

    @functools.cached_property
    def table(self) -> Table1:
        """Table 1 of this task."""
        return table(self.plan, self.home.results(self.facts, to_tell=True))

    @functools.cached_property
    def problem(self) -> "AbstractProblem":
        """The task itself; loads its data."""
        from lodestar_bench import tasks

        return tasks.problem(self.spec, self.facts.scale, self.facts.block)

    def entrant(self, method: str) -> Entrant:
        """A method that takes part."""
        for one in self.plan.entrants:
            if one.name == method:
                return one
        raise self.missing(f"{method!r} does not take part")

    def finals(self, method: str) -> list[Record]:
        """Its final runs by seed; none while there are none."""
        return sorted(records_of(self.plan.finals(self.entrant(method), self.results), self.results), key=_seed)

    def runs(self, records: Sequence[Record]) -> RunSet:
        """The curves of some records."""
        return self.home.runs.read([record.name for record in records])

    def sources(self) -> RunSet:
        """The runs Lodestar learned from: the four shapes' tuning (or a sweep)."""
        names = [piece.name for piece in self.plan.sources(self.form) if piece.name in self.results.records]
        if not names:
            raise self.missing("there are no runs that Lodestar learned from")
        return self.home.runs.read(names)

    @property
    def form(self) -> str:
        """The form of the optimizer in the runs that Lodestar learned from."""
        forms = {one.name: one.form for one in self.plan.entrants}
        return next((forms[name] for name in (*self.there(FITTED), *FITTED) if name in forms), "recipe")

    def ours(self, of: Sequence[str] = OURS) -> str:
        """The method of ours to show: the first of these that took part."""
        for name in self.there(of):
            return name
        raise self.missing("no final run of Lodestar has been made")

    def there(self, of: Sequence[str] = OURS) -> list[str]:
        """Those of some methods that have final runs."""
        judged = {row.entrant.name for row in self.table.rows if row.finals.count}
        return [name for name in of if name in judged]

    def knowledge(self, method: str) -> Path:
        """The file that a method left when it learned."""
        piece = self.plan.learning(self.entrant(method), self.results)
        if piece is None or piece.name not in self.results.records:
            raise self.missing(f"{method!r} has not learned yet")
        return self.home.knowledge(piece.name)

    def forecaster(self, method: str | None = None) -> Forecaster:
        """The forecaster of a method of ours; by default of one that was fitted to `sources`."""
        return load(self.knowledge(method or self.ours(FITTED)))

    def place(self, jobs: int | None = None) -> AbstractContextManager[AbstractExecutor]:
        """Worker processes for further runs, as many at once as was asked for (or `jobs`); a context manager."""
        return LocalExecutor(jobs or self.jobs, logs=self.scratch / "logs")

    def missing(self, what: str) -> BenchError:
        """The error for what a home lacks, with the command that makes it."""
        return BenchError(
            f"{what} in {self.home.path}. Fix: lodestar bench table1 --task {self.spec} --scale {self.facts.scale} "
            f"--out {self.home.path.parent}"
        )


def _seed(record: Record) -> int:
    return record.seed
