"""The family of a schedule, read from the curve itself, whatever it was called."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar.schedules.families import constant, cosine, exponential, inverse_sqrt, linear, onecycle, step, wsd
from lodestar.schedules.family import Family

_FLAT = 0.01
_CLOSE = 0.03
_ONE_CYCLE_FROM = 0.15
_STEADY_SHARE = 0.7
_HOLD_FROM = 0.15
_TO_FLOOR = (linear, cosine)
_OWN_WARM_UP = (inverse_sqrt.name, wsd.name)
"""Families that have a warm-up as a rule, so that it needs no mention."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a schedule looks like: a family, with a straight warm-up or without."""

    family: str
    warmup: bool = False

    def __str__(self) -> str:
        return f"{self.family} with warm-up" if self.warmup else self.family


OTHER = Shape("other")
UNKNOWN = Shape("unknown")


def recognise(steps: ArrayLike, lr: ArrayLike, total_steps: int) -> Shape:
    """Name the curve; `UNKNOWN` with fewer than four values or a rate of zero throughout."""
    steps, lr = np.asarray(steps), np.asarray(lr)
    if len(lr) < 4 or lr.max() <= 0:
        return UNKNOWN
    share = lr / lr.max()
    if share.min() > 1 - _FLAT:
        return Shape(constant.name)
    time = steps / max(total_steps, int(steps[-1]), 1)
    top = int(np.argmax(share > 1 - 1e-3))
    decay = _decay(time[top:], share[top:])
    if decay is None:
        return OTHER
    if top == 0 or share[0] > 1 - _FLAT:
        return Shape(decay.name)
    rise = share[: top + 1]
    if np.max(np.maximum.accumulate(rise) - rise) > _FLAT or decay is exponential:
        return OTHER
    if time[top] >= _ONE_CYCLE_FROM and decay in (cosine, linear):
        return Shape(onecycle.name)
    return Shape(decay.name, warmup=decay.name not in _OWN_WARM_UP)


def _decay(time: NDArray[np.float64], share: NDArray[np.float64]) -> Family | None:
    """The part from the peak on."""
    if share.min() > 1 - _FLAT:
        return constant
    if len(share) < 4 or np.max(share - np.minimum.accumulate(share)) > _FLAT:  # it rises again: restarts, cycles
        return None
    if _in_steps(np.diff(share)):
        return step
    held = time[np.flatnonzero(share > 1 - 1e-3)[-1]] - time[0]
    if held >= _HOLD_FROM * (time[-1] - time[0]):
        return wsd
    best, misfit = min(_misfits(time, share), key=lambda pair: pair[1])
    return best if misfit < _CLOSE else None


def _misfits(time: NDArray[np.float64], share: NDArray[np.float64]) -> list[tuple[Family, float]]:
    """Root mean square distance to each family, stretched to the last value, or over the whole run to zero."""
    pairs = []
    for end, floor in ((time[-1], share[-1]), (1.0, 0.0)):
        if end <= time[0] or floor >= 1:
            continue
        part = np.clip((time - time[0]) / (end - time[0]), 0, 1)
        pairs += [(each, _distance(share, each.share(part, warmup=0.0, floor=floor), 1 - floor)) for each in _TO_FLOOR]
    if share[-1] > 1e-6:
        part = (time - time[0]) / (time[-1] - time[0])
        pairs.append((exponential, _distance(share, exponential.share(part, floor=share[-1]))))
        if time[0] > 0:
            start = float(np.median(share**2 * time))
            pairs.append((inverse_sqrt, _distance(share, inverse_sqrt.share(time, warmup=start))))
    return pairs


def _distance(one: NDArray[np.float64], other: NDArray[np.float64], height: float = 1.0) -> float:
    return float(np.sqrt(np.mean((one - other) ** 2))) / height


def _in_steps(changes: NDArray[np.float64]) -> bool:
    """Whether the rate falls at once and then stays, rather than falling on and on."""
    falls = np.flatnonzero(changes < -1e-4)
    after = changes[falls[0] + 1 :]
    steady = len(after) == 0 or np.mean(np.abs(after) < 1e-4) >= _STEADY_SHARE
    return bool(steady and changes.min() < -0.05)
