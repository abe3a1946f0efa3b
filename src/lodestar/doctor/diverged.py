"""Recognises runs that cannot teach a forecaster anything good, and says why.

Diverged runs left in the training data ruin the forecaster's ranking of good runs, so `prepare` excludes them and names
each one; the doctor says the same beforehand. Nothing is deleted.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.runs.run import Direction, Run, Status

LEAST_POINTS = 5
_STRAY = 0.1  # share of losses that may be NaN or inf
_LOST = 0.5  # share of its gain a loss may give back before the run counts as blown up
_STUCK = 1 / 3  # share of the good runs' progress below which a high-rate run counts as stuck
_ENOUGH_RUNS = 5
_CLEAR = 3.0  # usual changes from one loss to the next by which a loss is clearly above another
_LATE = 0.1  # share of a run before its first loss from which on its log counts as begun late
_PART = 0.5  # share of what was logged that the learning rate must be known for
_LEAST_PART = 0.01  # share of the planned length that must have been logged


def why_unusable(run: Run) -> str | None:
    """The reason to exclude a run, or None. A diverged run need not be whole."""
    for reason in (_marked, _missing, _too_short, part_of_run, _not_finite, blown_up):
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


def part_of_run(run: Run) -> str | None:
    """The log stops so early that the run it is of stays unknown: nobody knows the rate that made the later values."""
    last, known = run.last_step, share_of_lr(run)
    if known < _PART:
        span = f"steps {run.lr.steps[0]} to {run.lr.steps[-1]} of {last}"
        return f"the learning rate is known for {span} only"
    if last < _LEAST_PART * run.total_steps:
        return f"only the first {last} of {run.total_steps} steps were logged ({last / run.total_steps:.2%})"
    return None


def share_of_lr(run: Run) -> float:
    """The share of what was logged (loss and metric as well) for which the learning rate is known."""
    if len(run.lr) == 0:
        return 0.0
    first = min(int(s.steps[0]) for s in (run.loss, run.metric, run.lr) if len(s))
    return (run.lr.held_until(run.last_step) - int(run.lr.steps[0]) + 1) / (run.last_step - first + 1)


def starts_late(run: Run) -> bool:
    """Whether the log begins in mid-run, as that of a branch resumed from another run does."""
    first = int(run.loss.steps[0])
    gap = float(np.median(np.diff(run.loss.steps))) if len(run.loss) > 1 else 0.0
    return first > max(_LATE * run.total_steps, 2 * gap)


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
    smoothed = running_mean(values, tenth)
    start, best, end = float(np.median(values[: max(1, tenth // 2)])), float(smoothed.min()), float(smoothed[-1])
    if starts_late(run):
        # What it had gained before is unknown: it is lost only if it ends clearly above where its log begins.
        usual = float(np.median(np.abs(np.diff(values))))
        if end <= start + max(_CLEAR * usual, _LOST * abs(start - best)):
            return None
        return f"diverged: the loss stood at {start:.4g} where its log begins, and ended at {end:.4g}"
    if best >= start - 1e-12 * abs(start):  # but for rounding
        return f"never learned: the loss starts at {start:.4g} and is never below it (best {best:.4g})"
    if end > best + _LOST * (start - best):
        return f"diverged: the loss fell from {start:.4g} to {best:.4g} and ended at {end:.4g}"
    return None


def why_collapsed(run: Run) -> str | None:
    """Why a run came to nothing, whatever else it lacks: it diverged, or never learned; None if it did neither."""
    return _marked(run) or _not_finite(run) or blown_up(run)


def running_mean(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The mean of every `width` values in a row, in one pass over them.

    A window is the end of one block of `width` and the start of the next, so each sum holds its own values alone: one
    running sum over all would lose small losses behind a large one.
    """
    blocks = np.zeros((-(-len(values) // width), width))
    blocks.flat[: len(values)] = values / width
    starts, ends = np.cumsum(blocks, axis=1).ravel(), np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1].ravel()
    means = ends[: len(values) - width + 1] + starts[width - 1 : len(values)]
    means[::width] = ends[: len(means) : width]
    return means


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a run began and ended, all that is needed to judge it beside the others."""

    name: str
    metric_name: str
    direction: Direction
    first: float
    last: float
    peak_lr: float
    workload: str = ""


def ending(run: Run) -> Ending:
    """The ending of a usable run: first metric, mean of the last three."""
    seen = run.metric.values[np.isfinite(run.metric.values)]
    first, last = float(seen[0]), float(np.mean(seen[-3:]))
    return Ending(run.name, run.metric_name, run.direction, first, last, run.peak_lr, run.facts.workload)


def stuck_beside(endings: Sequence[Ending]) -> dict[str, str]:
    """Runs that a high rate threw onto a plateau: little of the progress that good runs of the same task and size made.

    A run's own loss need not show it (a spike at the start makes any plateau look like progress), the others do. Runs
    with a lower rate than the best run's are merely slow, and stay.
    """
    alike: dict[str, list[Ending]] = {}
    for each in endings:
        alike.setdefault(each.workload, []).append(each)
    return {name: reason for some in alike.values() for name, reason in _stuck_among(some).items()}


def _stuck_among(endings: Sequence[Ending]) -> dict[str, str]:
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
        f"{sign * start:.4g} to the good runs' {sign * best:.4g} ({len(endings)} runs), "
        f"with a peak lr of {e.peak_lr:.3g}"
        for e, part in zip(endings, share, strict=True)
        if part < _STUCK and e.peak_lr > rate
    }
