"""The param groups of a torch optimizer: one follows the plan, the others keep their ratio to it, all within the caps.

Comes in: the scheduler's rate. Goes out: the rate of each group, always finite. A group's initial rate is read as it
was when the group was made. Knows no scheduler.
"""

import math
from collections.abc import Callable

from torch import Tensor
from torch.optim import Optimizer

from lodestar.scheduler.safety.caps import Caps


class ParamGroups:
    """Ratios of the groups' initial rates to that of the group the plan is for."""

    def __init__(self, reference: float):
        self.reference = reference  # the initial rate of the group that follows the plan
        self.ratios: list[float] = []

    def rates(
        self, optimizer: Optimizer, lr: float, caps: Caps | None, say: Callable[[str, str], None]
    ) -> list[float | Tensor]:
        """The rate of each group where the plan says `lr`. Caps of None are those of shadow mode."""
        for group in optimizer.param_groups[len(self.ratios) :]:
            ratio = float(group.setdefault("initial_lr", copied(group["lr"]))) / self.reference
            self.ratios.append(ratio if 0 <= ratio < math.inf else 1.0)
        return [self._rate(place, lr, caps, say) for place in range(len(optimizer.param_groups))]

    def _rate(self, place: int, lr: float, caps: Caps | None, say: Callable[[str, str], None]) -> float:
        ratio = self.ratios[place]
        rate = lr * ratio if math.isfinite(lr * ratio) else lr
        if caps is None or ratio == 0:  # frozen groups stay so
            return rate
        held = caps.within(rate, self.reference * ratio)
        if held < min(rate, caps.given):  # not by the user's own word
            say(
                "groups",
                f"param group {place} has {ratio:.3g} times the rate of the reference group, which now makes "
                f"{rate:.3g}: it is held at {held:.3g}. Fix: reference_group={place} if the plan is meant for this "
                "group, or closer rates in the optimizer",
            )
        return held


def reference_of(optimizer: Optimizer, index: int) -> float:
    """The initial rate of the group the plan is for, checked."""
    groups = optimizer.param_groups
    if not 0 <= index < len(groups):
        raise ValueError(f"reference_group must be 0 to {len(groups) - 1}, got {index}. Fix: leave it at 0")
    rate = float(groups[index].get("initial_lr", groups[index]["lr"]))
    if not 0 < rate < math.inf:
        raise ValueError(
            f"param group {index} has lr {rate}, but the groups' rates are kept as ratios to it. "
            "Fix: make the optimizer with lr > 0 (any value: it is steered), or name another reference_group"
        )
    return rate


def copied(lr: float | Tensor) -> float | Tensor:
    """A rate that stays as it is when the group's own tensor is filled anew."""
    return lr.clone() if isinstance(lr, Tensor) else lr
