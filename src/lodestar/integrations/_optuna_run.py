"""A trial of Optuna as a run: its reported values are the metric, its user attributes loss, rate and schedule."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from lodestar.runs import Direction, Run, Series, Status
from lodestar.schedules import Schedule, parse

LOSS, LR = "loss", "lr"
"""User attributes that hold curves, as [step, value] pairs; `lodestar import` reads them too."""
ALIKE = 1.05  # lengths within this ratio are the same length
Planned = str | Sequence[float] | Schedule  # a schedule in words, or a rate for each step


def as_run(trial: FrozenTrial, direction: Direction, total: int | None, planned: Planned | None) -> Run | None:
    """A trial as a run; None if it has reported nothing. Steps that count from 0 are moved up by one."""
    steps = sorted(trial.intermediate_values)
    if not steps:
        return None
    offset, values = int(steps[0] == 0), [trial.intermediate_values[step] for step in steps]
    metric = Series([step + offset for step in steps], values)
    loss = _pairs(trial.user_attrs.get(LOSS), offset)
    if loss is None or not np.isfinite(loss.values).any():
        loss = Series(metric.steps, metric.values if direction is Direction.MIN else -metric.values)  # `without_loss`
    last = max(int(metric.steps[-1]), int(loss.steps[-1]))
    length = max(last, (total or last) + (offset if total is not None else 0))
    schedule = schedule_of(planned, length)
    lr = _pairs(trial.user_attrs.get(LR), offset)
    if schedule is not None:
        at = np.unique(np.linspace(1, last, 60).round().astype(np.int64))
        lr = Series(at, [schedule(int(step)) for step in at])
    whole = trial.state is TrialState.COMPLETE and last * ALIKE + 1 >= length
    status = Status.FINISHED if whole else Status.CUT_SHORT
    fine = lr is not None and bool(np.all(np.isfinite(lr.values) & (lr.values >= 0))) and int(lr.steps[-1]) <= length
    rates = lr if lr is not None and fine else Series.empty()
    return Run(f"trial {trial.number}", loss, metric, rates, direction, status, length)


def schedule_of(planned: Planned | None, total: int) -> Schedule | None:
    """A schedule over `total` steps from words, rates or itself."""
    if planned is None or isinstance(planned, Schedule):
        return planned
    return parse(planned, total) if isinstance(planned, str) else Schedule("planned", [float(rate) for rate in planned])


def _pairs(attribute: Any, offset: int) -> Series | None:
    """A curve among the user attributes; None where there is none, or nobody can read it."""
    if not isinstance(attribute, list) or not attribute:
        return None
    try:
        table = {int(step) + offset: float(value) for step, value in attribute}
        return Series(sorted(table), [table[step] for step in sorted(table)])
    except (TypeError, ValueError):
        return None
