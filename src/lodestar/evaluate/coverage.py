"""Do the intervals hold what they promise? The share of the rest of each run, and of final metrics, inside them.

Comes in: a contest. Goes out: a row for each level and fraction. Only what was still to come counts.
"""

from collections.abc import Sequence

import numpy as np

from lodestar.evaluate.contest import Contest
from lodestar.evaluate.evaluation import Coverage
from lodestar.forecaster.intervals import LEVELS
from lodestar.forecaster.preprocessing.normaliser import METRIC


def coverage(contest: Contest, fractions: Sequence[float]) -> tuple[Coverage, ...]:
    """Every level of the intervals at every fraction."""
    return tuple(_row(contest, seen, level) for seen in fractions for level in LEVELS)


def _row(contest: Contest, seen: float, level: float) -> Coverage:
    exam, made = contest.exam, contest.seen(seen)
    ahead = exam.data.mask.copy()
    ahead[:, : made.stop] = False
    ahead &= np.isfinite(made.centre)
    inside = np.zeros_like(ahead)
    for run, (centre, spread) in enumerate(zip(made.centre, made.disagreement, strict=True)):
        lower, upper = exam.forecaster.intervals.around(centre, spread, seen, exam.forecaster.times, level)
        truth = exam.data.values[run]
        inside[run] = (truth >= lower) & (truth <= upper)
    rows, last = np.arange(len(ahead)), exam.last_metric()
    loss, metric, lr = (_share(inside[..., channel], ahead[..., channel]) for channel in range(3))
    final = _share(inside[rows, last, METRIC], ahead[rows, last, METRIC])
    runs = int(ahead.any(axis=(1, 2)).sum())
    return Coverage(level, seen, loss, metric, lr, final, runs, int(ahead[rows, last, METRIC].sum()))


def _share(inside: np.ndarray, among: np.ndarray) -> float:
    return float(inside[among].mean()) if among.any() else float("nan")
