"""The base schedule: the user's plain one, which shadow mode follows and a closed gate falls to.

Comes in: a function of the step. Goes out: its rate, within the caps if there are any. Where the function fails or
gives no learning rate, the last good one before that step holds, never the plan's; a warning says so. It is looked for
by asking for earlier steps, so that a resumed job holds the same rate. A training job must never die of it.
"""

import math
from collections.abc import Callable

from lodestar.scheduler.inputs import number_of, shown
from lodestar.scheduler.safety.caps import Caps

_LOOK_BACK = 10_000  # steps


class BaseSchedule:
    """A function of the step that may fail. `caps` is None in shadow mode, which changes nothing."""

    def __init__(self, base: Callable[[int], float] | None, caps: Caps | None, warn: Callable[[str, str], None]):
        self._base, self._caps, self._warn = base, caps, warn
        self._good = 0.0 if base is None else self._asked(1)[0] or 0.0  # the last rate there was, whatever its step
        self._gap = (1, 0, 0.0)  # the last stretch of steps without a rate, from and to, and the one that holds there

    @property
    def given(self) -> bool:
        """Whether there is one."""
        return self._base is not None

    def lr_at(self, step: int) -> float | None:
        """The rate of a step, None if there is no base schedule."""
        if self._base is None:
            return None
        rate, problem = self._asked(step)
        if rate is None:
            rate = self._held(step)
            self._warn("base", f"base({step}) {problem}; its last good rate, {rate:.4g}, holds there")
        self._good = rate
        if self._caps is None:
            return rate
        if rate > self._caps.high:
            self._warn("base cap", f"base({step}) is {rate:.4g}, above the cap of {self._caps.high:.4g}: capped")
        return min(max(rate, self._caps.low), self._caps.high)

    def _asked(self, step: int) -> tuple[float | None, str]:
        """The function's rate, else None and what is wrong."""
        assert self._base is not None
        try:
            rate = number_of(given := self._base(step))
        except Exception as error:  # noqa: BLE001  the user's function; a training job must never die of it
            return None, f"failed: {shown(error)}"
        if rate is None or not math.isfinite(rate) or rate < 0:
            return None, f"gave {shown(given)}, not a learning rate"
        return rate, ""

    def _held(self, step: int) -> float:
        """The rate of the last step before `step` that has one."""
        first, last, rate = self._gap
        for earlier in range(step - 1, max(step - _LOOK_BACK, 0), -1):
            if first <= earlier <= last:
                self._gap = (first, max(last, step), rate)
                return rate
            found, _ = self._asked(earlier)
            if found is not None:
                self._gap = (earlier + 1, step, found)
                return found
        self._gap = (max(step - _LOOK_BACK + 1, 1), step, self._good)
        return self._good
