"""Recognises runs that cannot teach a forecaster anything good, and says why.

Diverged runs left in the training data ruin the forecaster's ranking of good runs, so `prepare` excludes them and names
each one; the doctor says the same beforehand. Nothing is deleted.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from lodestar.runs.run import Direction, Run, Status

LEAST_POINTS = 5
_STRAY = 0.1  # share of losses that may be NaN or inf
_LOST = 0.5  # share of its gain a loss may give back before the run counts as blown up
_STUCK = 1 / 3  # share of the good runs' progress below which a high-rate run counts as stuck
_ENOUGH_RUNS = 5


def why_unusable(run: Run) -> str | None:
    """The reason to exclude a run, or None."""
    for reason in (_missing, _too_short, _marked, _not_finite, blown_up):
        found = reason(run)
        if found:
            return found
    return None


def _missing(run: Run) -> str | None:
    if len(run.lr) == 0:
        return "no learning rate was logged; log it, or import the run again with --lr"
    if not np.any(np.isfinite(run.metric.values)):
        return "no finite metric was logged; log one, or import the run again with --metric"
    if run.peak_lr == 0:
        return "the learning rate is zero throughout, so nothing was learned"
    return None


def _too_short(run: Run) -> str | None:
    count = int(np.isfinite(run.loss.values).sum())
    return f"only {count} finite losses; at least {LEAST_POINTS} are needed" if count < LEAST_POINTS else None


def _marked(run: Run) -> str | None:
    return "diverged, as its status says" if run.status is Status.DIVERGED else None


def _not_finite(run: Run) -> str | None:
    """Not finite at the end, or often. A stray NaN (mixed precision makes them) is a gap in the log, no divergence."""
    bad = np.flatnonzero(~np.isfinite(run.loss.values))
    if len(bad) == 0 or (bad[-1] < len(run.loss) - 1 and len(bad) <= _STRAY * len(run.loss)):
        return None
    return f"diverged: the loss is {run.loss.values[bad[0]]} at step {run.loss.steps[bad[0]]}"


def blown_up(run: Run) -> str | None:
    """The loss ended by losing most of what it had gained, or never gained anything."""
    values = run.loss.values[np.isfinite(run.loss.values)]
    if len(values) < LEAST_POINTS:
        return None
    tenth = max(1, len(values) // 10)
    kernel = np.ones(tenth) / tenth
    smoothed = np.convolve(values, kernel, mode="valid")
    start, best, end = float(np.median(values[: max(1, tenth // 2)])), float(smoothed.min()), float(smoothed[-1])
    if best >= start:
        return f"never learned: the loss starts at {start:.4g} and is never below it (best {best:.4g})"
    if end > best + _LOST * (start - best):
        return f"diverged: the loss fell from {start:.4g} to {best:.4g} and ended at {end:.4g}"
    return None


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a run began and ended, all that is needed to judge it beside the others."""

    name: str
    metric_name: str
    direction: Direction
    first: float
    last: float
    peak_lr: float


def ending(run: Run) -> Ending:
    """The ending of a usable run: first metric, mean of the last three."""
    seen = run.metric.values[np.isfinite(run.metric.values)]
    return Ending(run.name, run.metric_name, run.direction, float(seen[0]), float(np.mean(seen[-3:])), run.peak_lr)


def stuck_beside(endings: Sequence[Ending]) -> dict[str, str]:
    """Runs that a high rate threw onto a plateau: little of the progress that good runs of the same set made.

    A run's own loss need not show it (a spike at the start makes any plateau look like progress), the others do. Runs
    with a lower rate than the best run's are merely slow, and stay.
    """
    if len(endings) < _ENOUGH_RUNS:
        return {}
    sign = 1.0 if endings[0].direction is Direction.MAX else -1.0
    start = float(np.median([sign * e.first for e in endings]))
    ends = np.array([sign * e.last for e in endings])
    best = float(np.quantile(ends, 0.9))
    rate = endings[int(np.argmax(ends))].peak_lr
    if best <= start:
        return {}
    share = (ends - start) / (best - start)
    return {
        e.name: f"stuck: its {e.metric_name} ended at {e.last:.4g}, {max(part, 0):.0%} of the way from "
        f"{sign * start:.4g} to the good runs' {sign * best:.4g}, with a peak lr of {e.peak_lr:.3g}"
        for e, part in zip(endings, share, strict=True)
        if part < _STUCK and e.peak_lr > rate
    }
