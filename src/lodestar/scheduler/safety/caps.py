"""Caps on the learning rate: never above the lower of the user's bound and the highest rate the training runs survived.

Comes in: a forecaster and the user's bounds. Goes out: the bounds that hold, checked. Always on, and for every param
group: past runs know nothing of a group that is meant to be faster, so it may reach its own initial rate as well, but
the user's bound holds for it too.
"""

import dataclasses
import math

from lodestar.forecaster import Forecaster


@dataclasses.dataclass(frozen=True)
class Caps:
    """The learning rate stays within these. `given` is the user's own upper bound."""

    low: float
    high: float
    given: float = math.inf

    def within(self, rate: float, initial: float = 0.0) -> float:
        """The rate of a param group that was made with the rate `initial`, held within the caps."""
        return min(max(rate, self.low), self.given, max(self.high, initial))


def caps_of(forecaster: Forecaster, min_lr: float | None, max_lr: float | None) -> Caps:
    """The user's bounds, and what the training runs survived."""
    survived = float(forecaster.ranges.lr_max)
    if not (math.isfinite(survived) and survived > 0):
        raise ValueError(
            f"the forecaster's highest rate that training runs survived must be above 0, got {survived}. "
            "Fix: fit it again"
        )
    for name, value in (("min_lr", min_lr), ("max_lr", max_lr)):
        if value is not None and not (_is_number(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number >= 0, got {value!r}. Fix: leave it out, or state a rate")
    low = 0.0 if min_lr is None else float(min_lr)
    high = survived if max_lr is None else min(float(max_lr), survived)
    if low > high:
        raise ValueError(
            f"min_lr must not be above the cap of {high:.4g} (the lower of max_lr and the highest rate the training "
            f"runs survived, {survived:.4g}), got {low:.4g}. Fix: lower min_lr, or fit on runs with higher rates"
        )
    return Caps(low, high, math.inf if max_lr is None else float(max_lr))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
