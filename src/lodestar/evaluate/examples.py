"""A few runs drawn beside their forecasts: the median, the best and the worst (the paper's figure of trajectories).

Comes in: a contest. Goes out: curves in the user's units as plain lists. Runs are ordered by the geometric mean of the
three relative errors at the first fraction, so that no one quantity decides.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.accuracy import errors
from lodestar.evaluate.contest import Contest
from lodestar.evaluate.evaluation import OURS, ByChannel, Drawn, Example
from lodestar.evaluate.exam import Exam
from lodestar.evaluate.ranking import LEVEL
from lodestar.forecaster.preprocessing.normaliser import CHANNELS


def examples(contest: Contest, fractions: Sequence[float]) -> tuple[Example, ...]:
    """Median, best and worst run, of those with a forecast; fewer where there are fewer."""
    found = errors(contest.exam, contest.forecast(OURS, fractions[0]))
    some = np.flatnonzero(np.isfinite(found).any(axis=1))
    if len(some) == 0:
        return ()
    score = np.nanmean(np.log(np.maximum(found[some], 1e-12)), axis=1)
    order = some[np.argsort(score, kind="stable")]
    places = {"median": order[len(order) // 2], "best": order[0], "worst": order[-1]}
    chosen: dict[int, str] = {}
    for why, run in places.items():
        chosen.setdefault(int(run), why)
    return tuple(_example(contest, run, why, found[run], fractions) for run, why in chosen.items())


def _example(contest: Contest, run: int, why: str, error: NDArray, fractions: Sequence[float]) -> Example:
    exam = contest.exam
    total = int(exam.data.total_steps[run])
    mask = exam.data.mask[run]
    return Example(
        run=exam.data.names[run],
        why=why,
        error=ByChannel.of(error[None]),
        steps=np.round(exam.forecaster.times * total).astype(int).tolist(),
        raw=_lists(np.where(mask, exam.raw[run], np.nan)),
        smoothed=_lists(np.where(mask, exam.natural(exam.data.values[run]), np.nan)),
        forecasts=tuple(_drawn(contest, exam, run, seen) for seen in fractions),
    )


def _drawn(contest: Contest, exam: Exam, run: int, seen: float) -> Drawn:
    made = contest.seen(seen)
    intervals = exam.forecaster.intervals
    lower, upper = intervals.around(made.centre[run], made.disagreement[run], seen, exam.forecaster.times, LEVEL)
    centre, lower, upper = (_lists(exam.natural(part)) for part in (made.centre[run], lower, upper))
    return Drawn(made.stop / exam.data.recipe.points, LEVEL, centre, lower, upper)


def _lists(values: NDArray[np.float64]) -> dict[str, list[float]]:
    return {name: values[:, channel].tolist() for channel, name in enumerate(CHANNELS)}
