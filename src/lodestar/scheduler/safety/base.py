"""The base schedule: the user's plain one, which shadow mode follows and a closed gate falls to.

Comes in: a function of the step. Goes out: its rate, within the caps if there are any, or None where the function fails
or gives no learning rate; a warning says so. A training job must never die of it.
"""

import math
from collections.abc import Callable

from lodestar.scheduler.inputs import number_of
from lodestar.scheduler.safety.caps import Caps


class BaseSchedule:
    """A function of the step that may fail. `caps` is None in shadow mode, which changes nothing."""

    def __init__(self, base: Callable[[int], float] | None, caps: Caps | None, warn: Callable[[str, str], None]):
        self._base, self._caps, self._warn = base, caps, warn

    def lr_at(self, step: int) -> float | None:
        """The rate of a step, None where there is none to be had."""
        rate = self._asked(step)
        if rate is None or self._caps is None:
            return rate
        if rate > self._caps.high:
            self._warn("base cap", f"base({step}) is {rate:.4g}, above the cap of {self._caps.high:.4g}: capped")
        return min(max(rate, self._caps.low), self._caps.high)

    def _asked(self, step: int) -> float | None:
        try:
            rate = None if self._base is None else number_of(self._base(step))
        except Exception as error:  # noqa: BLE001  the user's function; a training job must never die of it
            self._warn("base", f"base({step}) failed: {error!r}; the plan is followed there")
            return None
        if rate is None or not math.isfinite(rate) or rate < 0:
            self._warn("base", f"base({step}) gave {rate!r}, not a learning rate; the plan is followed there")
            return None
        return rate
