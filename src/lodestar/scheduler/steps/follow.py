"""Follow: the running schedule up to a step, and from there the rates of a planned run, cut and capped.

Comes in: the schedule of all steps so far, a planned run on the grid, caps, the guard's cut. Goes out: the schedule of
the whole run. What was followed is kept to the last bit; only what lies after it is new. Knows no forecasts.
"""

import bisect
import math

import numpy as np

from lodestar.scheduler.clock import Clock
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.safety.caps import Caps
from lodestar.scheduler.safety.guard import Cut
from lodestar.schedules.schedule import Schedule, read_polyline

Polyline = tuple[list[float], list[float]]  # knots in steps and the rate at each; at a jump two knots share a step


def follow(
    schedule: Schedule | None, planned: PlannedRun, after: float, clock: Clock, caps: Caps, cut: Cut
) -> Schedule:
    """`schedule` up to the step `after` (None: from the start), and from there `planned` to the end of the run."""
    nodes = [clock.at(planned.start + j) for j in range(len(planned.lr))]
    knots, rates = _from(nodes, planned.lr.tolist(), after)
    knots, rates = _scaled(knots, rates, clock.at(cut.until), cut.factor)
    rates = np.clip(rates, caps.low, caps.high).tolist()
    before, used = ([], []) if schedule is None else _until(schedule, after)
    return Schedule("steered", [*used, *rates], knots=[*before, *knots], last_step=clock.total_steps)


def capped(schedule: Schedule, first_step: int, caps: Caps) -> Schedule:
    """The schedule with the rates from `first_step` on within the caps; the same object where they are already."""
    after = float(max(first_step - 1, 0))
    knots, rates = _from(list(schedule.knots), list(schedule.lr), after)
    held = np.clip(rates, caps.low, caps.high).tolist()
    if held == rates:
        return schedule
    before, used = _until(schedule, after)
    return Schedule("steered", [*used, *held], knots=[*before, *knots], last_step=schedule.last_step)


def stretch(schedule: Schedule, first_step: int, last_step: int) -> Schedule:
    """The part from one step to another. No step at all still has a knot to hold."""
    knots = schedule.knots
    start = max(bisect.bisect_left(knots, first_step) - 1, 0)
    stop = bisect.bisect_left(knots, max(first_step, last_step)) + 1
    rates = schedule.lr[start:stop]
    return Schedule(schedule.name, rates, knots=knots[start:stop], first_step=first_step, last_step=last_step)


def _until(schedule: Schedule, step: float) -> Polyline:
    """The part up to and with `step`, ending on a knot there.

    Where that cuts a segment in two, each whole step of the left half becomes a knot: the same line through other ends
    would differ in the last bit, and a rate that was given must not.
    """
    stop = bisect.bisect_left(schedule.knots, step)
    if stop == 0:
        return [], []
    knots = [*schedule.knots[:stop], float(step)]
    if stop < len(schedule.knots) and schedule.knots[stop] != step:
        knots[stop:stop] = [float(s) for s in range(math.floor(knots[stop - 1]) + 1, math.ceil(step))]
    return knots, [*schedule.lr[:stop], *(read_polyline(schedule.knots, schedule.lr, s) for s in knots[stop:])]


def _from(knots: list[float], lr: list[float], after: float) -> Polyline:
    """The part of a polyline right of `after`, starting on a knot there."""
    stop = bisect.bisect_right(knots, after)
    here = read_polyline(knots, lr, after)
    return [after, *knots[stop:]], [here, *lr[stop:]]


def _scaled(knots: list[float], lr: list[float], until: float, factor: float) -> Polyline:
    """The polyline times `factor` up to `until`, with a jump back there."""
    if factor == 1.0 or until <= knots[0]:
        return knots, lr
    if until >= knots[-1]:
        return knots, [rate * factor for rate in lr]
    stop = bisect.bisect_left(knots, until)
    there = read_polyline(knots, lr, until)
    tail = stop + (knots[stop] == until)
    return (
        [*knots[:stop], until, until, *knots[tail:]],
        [*(rate * factor for rate in lr[:stop]), there * factor, there, *lr[tail:]],
    )
