"""The curve: the learning rate of every step so far and to come, a polyline that is never rewritten behind the present.

Comes in: courses on the grid, caps, and the guard's cuts. Goes out: knots (step, lr). What was followed up to a step is
kept exactly; a new course replaces only what lies after it. Knows steps and numbers, no forecasts.
"""

import bisect
import dataclasses
import math

import numpy as np

from lodestar.scheduler.clock import Clock
from lodestar.scheduler.course import Course
from lodestar.scheduler.safety.guard import Caps, Cut
from lodestar.schedules.plan import Plan, read_polyline


@dataclasses.dataclass(frozen=True)
class Curve:
    """Knots in steps, and the learning rate at each; at a jump two knots share a step."""

    knots: list[float]
    lr: list[float]

    def lr_at(self, step: int) -> float:
        """The learning rate of one step."""
        return read_polyline(self.knots, self.lr, step)

    def until(self, step: float) -> "Curve":
        """The part up to and with `step`, ending on a knot there.

        Where that cuts a segment in two, each whole step of the left half becomes a knot: the same line through other
        ends would differ in the last bit, and a rate that was given must not.
        """
        stop = bisect.bisect_left(self.knots, step)
        if stop == 0:
            return Curve([], [])
        knots = [*self.knots[:stop], float(step)]
        if stop < len(self.knots) and self.knots[stop] != step:
            knots[stop:stop] = [float(s) for s in range(math.floor(knots[stop - 1]) + 1, math.ceil(step))]
        return Curve(knots, [*self.lr[:stop], *(read_polyline(self.knots, self.lr, s) for s in knots[stop:])])

    def then(self, course: Course, after: float, clock: Clock, caps: Caps, cut: Cut) -> "Curve":
        """This curve up to `after`, and from there the course, cut and capped, to the end of the run."""
        kept = self.until(after)
        nodes = [clock.at(course.start + j) for j in range(len(course.lr))]
        knots, rates = _from(nodes, course.lr.tolist(), after)
        knots, rates = _scaled(knots, rates, clock.at(cut.until), cut.factor)
        return Curve([*kept.knots, *knots], [*kept.lr, *np.clip(rates, caps.low, caps.high).tolist()])

    def plan(self, first_step: int, last_step: int) -> Plan:
        """The stretch from one step to another, frozen. No step at all still has a knot to hold."""
        start = max(bisect.bisect_left(self.knots, first_step) - 1, 0)
        stop = bisect.bisect_left(self.knots, max(first_step, last_step)) + 1
        return Plan(first_step, last_step, tuple(self.knots[start:stop]), tuple(self.lr[start:stop]))


def _from(knots: list[float], lr: list[float], after: float) -> tuple[list[float], list[float]]:
    """The part of a polyline right of `after`, starting on a knot there."""
    stop = bisect.bisect_right(knots, after)
    here = read_polyline(knots, lr, after)
    return [after, *knots[stop:]], [here, *lr[stop:]]


def _scaled(knots: list[float], lr: list[float], until: float, factor: float) -> tuple[list[float], list[float]]:
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
