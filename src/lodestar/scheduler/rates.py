"""The rates a job uses: the curve while steering, the user's plain schedule in shadow mode or behind a closed gate.

Comes in: courses to follow, and the plain schedule, a function of the step. Goes out: the rate of any step, past or to
come, and frozen plans. The user's function may fail: then the curve holds there, and a warning says so. Knows nothing
of observations or forecasts.
"""

import math
from collections.abc import Callable

from lodestar.scheduler.clock import Clock
from lodestar.scheduler.course import Course
from lodestar.scheduler.curve import Curve
from lodestar.scheduler.inputs import number_of
from lodestar.scheduler.safety.guard import Caps, Cut
from lodestar.schedules.plan import Plan


class Rates:
    """What is used at each step. `closed`: the gate closed after this step; None while it is open."""

    def __init__(self, caps: Caps, base: Callable[[int], float] | None, shadow: bool, warn: Callable[[str, str], None]):
        self.curve = Curve([], [])
        self.closed: int | None = None
        self._caps, self._base, self._shadow, self._warn = caps, base, shadow, warn

    def follow(self, course: Course, after: float, clock: Clock, cut: Cut) -> None:
        """Follow a course, cut and capped, from a step on."""
        self.curve = self.curve.then(course, after, clock, self._caps, cut)

    def used(self, step: int) -> float:
        """What a job has used, or will use, at a step."""
        if self._steered(step):
            return self.curve.lr_at(step)
        rate = self._plain(step)
        if rate is None:
            return self.curve.lr_at(step)
        return rate if self._shadow else min(max(rate, self._caps.low), self._caps.high)

    def proposed(self, step: int) -> float:
        """What we would have used: in shadow mode the curve, which nobody follows."""
        return self.curve.lr_at(step) if self._shadow else self.used(step)

    def frozen(self, first: int, last: int) -> Plan:
        """The rates of a stretch of steps."""
        if self._steered(last):
            return self.curve.plan(first, last)
        steps = range(first, max(last, first) + 1)
        return Plan(first, last, tuple(steps), tuple(self.used(step) for step in steps))

    def _steered(self, step: int) -> bool:
        return not self._shadow and (self.closed is None or step <= self.closed)

    def _plain(self, step: int) -> float | None:
        """The plain schedule's rate, None where it fails."""
        try:
            rate = None if self._base is None else number_of(self._base(step))
        except Exception as error:  # noqa: BLE001  the user's function; a training job must never die of it
            self._warn("base", f"base({step}) failed: {error!r}; the plan is followed there")
            return None
        if rate is None or not math.isfinite(rate) or rate < 0:
            self._warn("base", f"base({step}) gave {rate!r}, not a learning rate; the plan is followed there")
            return None
        if rate > self._caps.high and not self._shadow:
            self._warn("base cap", f"base({step}) is {rate:.4g}, above the cap of {self._caps.high:.4g}: capped")
        return rate
