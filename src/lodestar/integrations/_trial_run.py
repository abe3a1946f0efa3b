"""A trial of somebody else's search as a run, from what it said: what the integrations have in common.

Comes in: reported values, loss and rate by step; the trial's length and schedule, where they are known. Goes out: a
`Run` that `lodestar.pruning` learns from or judges.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lodestar.runs import Direction, Run, RunStore, Series, Status
from lodestar.schedules import Schedule, parse

ALIKE = 1.05  # lengths within this ratio are the same length
Planned = str | Sequence[float] | Schedule  # a schedule in words, or a rate for each step
History = str | Path | RunStore | Iterable[Run]


def run_from(
    name: str,
    metric: Mapping[int, float],
    *,
    direction: Direction,
    complete: bool,
    loss: Mapping[int, float] | None = None,
    lr: Mapping[int, float] | None = None,
    total: int | None = None,
    planned: Planned | None = None,
) -> Run | None:
    """The run; None if nothing was reported. Steps that count from 0 are moved up by one."""
    if not metric:
        return None
    offset = int(min(metric) == 0)
    values, losses = _series(metric, offset), _series(loss or {}, offset)
    if not np.isfinite(losses.values).any():
        losses = Series(values.steps, values.values if direction is Direction.MIN else -values.values)  # `without_loss`
    last = max(int(values.steps[-1]), int(losses.steps[-1]))
    length = max(last, (total or last) + (offset if total is not None else 0))
    whole = complete and last * ALIKE + 1 >= length
    status = Status.FINISHED if whole else Status.CUT_SHORT
    rates = _rates(lr or {}, offset, last, length, schedule_of(planned, length))
    return Run(name, losses, values, rates, direction, status, length)


def schedule_of(planned: Planned | None, total: int) -> Schedule | None:
    """A schedule over `total` steps from words, rates or itself."""
    if planned is None or isinstance(planned, Schedule):
        return planned
    return parse(planned, total) if isinstance(planned, str) else Schedule("planned", [float(rate) for rate in planned])


def runs_of(history: History) -> tuple[Run, ...]:
    """Runs from before, or those of the store at a path."""
    past = RunStore.open(history) if isinstance(history, str | Path) else history
    return tuple(past.read() if isinstance(past, RunStore) else past)


def _rates(lr: Mapping[int, float], offset: int, last: int, length: int, schedule: Schedule | None) -> Series:
    """The schedule's where it is known, else the reported ones; none where they cannot be rates."""
    if schedule is not None:
        at = np.unique(np.linspace(1, last, 60).round().astype(np.int64))
        return Series(at, [schedule(int(step)) for step in at])
    told = _series(lr, offset)
    fine = len(told) and bool(np.all(np.isfinite(told.values) & (told.values >= 0))) and int(told.steps[-1]) <= length
    return told if fine else Series.empty()


def _series(curve: Mapping[int, float], offset: int) -> Series:
    return Series([step + offset for step in sorted(curve)], [curve[step] for step in sorted(curve)])
