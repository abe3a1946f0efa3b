"""The plain schedule a closed gate falls to where the user gave none: the initial plan's family, drawn from a formula.

Comes in: the initial plan, and the optimizer's own rate if an adapter knows it. Goes out: rates on the plan's grid. No
rate is above either: a forecaster that does not fit the job is no reason to train faster than the user would have.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.scheduler.planned_run import PlannedRun
from lodestar.schedules.families import find, linear
from lodestar.schedules.recognise import recognise

_WARM_UP = 0.05


def plain_rates(initial: PlannedRun, own_lr: float | None) -> tuple[NDArray[np.float64], str]:
    """The rate of each node of the run, and what it is in words."""
    nodes = len(initial.lr)
    shape = recognise(np.arange(1, nodes + 1), initial.lr, nodes)
    family = find(shape.family) or linear
    peak = float(np.max(initial.lr)) if own_lr is None else min(float(np.max(initial.lr)), own_lr)
    if not 0 < peak < np.inf:
        return initial.lr, "the initial plan"
    warm_up = {"warmup": _WARM_UP} if "warmup" in family.defaults and shape.warmup else {}
    schedule = family(peak, nodes, **warm_up)
    return np.asarray(schedule.values(), dtype=np.float64), f"{family.name}, peak {peak:.3g}"


def plain_run(initial: PlannedRun, planned: PlannedRun, own_lr: float | None) -> tuple[PlannedRun, str]:
    """What is followed in place of `planned`, and its words. Nobody reads its loss and metric."""
    rates, words = plain_rates(initial, own_lr)
    ahead = rates[len(rates) - len(planned.lr) :]
    return PlannedRun(planned.start, ahead, planned.loss, planned.metric), words
