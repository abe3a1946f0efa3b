"""The shape of a learning rate schedule, read from the curve itself.

Comes in: the lr of a run and its planned length. Goes out: one of a few words (constant, cosine, one-cycle, step, ...).
The paper's sweep has four of them. Knows nothing of what the schedule was called, or of the run's results.
"""

import enum

import numpy as np
from numpy.typing import NDArray

from lodestar.runs.run import Series

_FLAT = 0.01
_CLOSE = 0.03
_ONE_CYCLE_FROM = 0.15
_STEADY_SHARE = 0.7
_HOLD_FROM = 0.15


class Shape(enum.StrEnum):
    """What a schedule looks like, as a share of its peak against a share of the run."""

    CONSTANT = "constant"
    COSINE = "cosine"
    LINEAR = "linear"
    STEP = "step"
    EXPONENTIAL = "exponential"
    INVERSE_SQRT = "inverse square root"
    ONE_CYCLE = "one-cycle"
    TRAPEZOID = "hold, then decay"
    WARM_UP_CONSTANT = "warm-up, constant"
    WARM_UP_COSINE = "warm-up, cosine"
    WARM_UP_LINEAR = "warm-up, linear"
    WARM_UP_STEP = "warm-up, step"
    OTHER = "other"
    UNKNOWN = "unknown"


def shape_of(lr: Series, total_steps: int) -> Shape:
    """Name the curve; `UNKNOWN` with fewer than four values or a rate of zero throughout."""
    if len(lr) < 4 or lr.values.max() <= 0:
        return Shape.UNKNOWN
    share = lr.values / lr.values.max()
    if share.min() > 1 - _FLAT:
        return Shape.CONSTANT
    time = lr.steps / max(total_steps, int(lr.steps[-1]), 1)
    top = int(np.argmax(share > 1 - 1e-3))
    decay = _decay(time[top:], share[top:])
    if top == 0 or share[0] > 1 - _FLAT:
        return decay
    if not _rises(share[: top + 1]):
        return Shape.OTHER
    if time[top] >= _ONE_CYCLE_FROM and decay in (Shape.COSINE, Shape.LINEAR):
        return Shape.ONE_CYCLE
    return _WARMED_UP.get(decay, Shape.OTHER)


_WARMED_UP = {
    Shape.CONSTANT: Shape.WARM_UP_CONSTANT,
    Shape.COSINE: Shape.WARM_UP_COSINE,
    Shape.LINEAR: Shape.WARM_UP_LINEAR,
    Shape.STEP: Shape.WARM_UP_STEP,
    Shape.INVERSE_SQRT: Shape.INVERSE_SQRT,
    Shape.TRAPEZOID: Shape.TRAPEZOID,
}


def _decay(time: NDArray[np.float64], share: NDArray[np.float64]) -> Shape:
    """The part from the peak on."""
    if share.min() > 1 - _FLAT:
        return Shape.CONSTANT
    if len(share) < 4 or np.max(share - np.minimum.accumulate(share)) > _FLAT:  # it rises again: restarts, cycles
        return Shape.OTHER
    if _in_steps(np.diff(share)):
        return Shape.STEP
    held = time[np.flatnonzero(share > 1 - 1e-3)[-1]] - time[0]
    if held >= _HOLD_FROM * (time[-1] - time[0]):
        return Shape.TRAPEZOID
    misfits = dict(_misfits(time, share))
    best = min(misfits, key=lambda shape: misfits[shape])
    return best if misfits[best] < _CLOSE else Shape.OTHER


def _misfits(time: NDArray[np.float64], share: NDArray[np.float64]) -> list[tuple[Shape, float]]:
    """Root mean square distance to each template, stretched to the last value, or over the whole run to zero."""
    found = []
    for end, floor in ((time[-1], share[-1]), (1.0, 0.0)):
        if end <= time[0] or floor >= 1:
            continue
        part = np.clip((time - time[0]) / (end - time[0]), 0, 1)
        level = (share - floor) / (1 - floor)
        found.append((Shape.LINEAR, _distance(level, 1 - part)))
        found.append((Shape.COSINE, _distance(level, 0.5 * (1 + np.cos(np.pi * part)))))
    if share[-1] > 1e-6:
        part = (time - time[0]) / (time[-1] - time[0])
        found.append((Shape.EXPONENTIAL, _distance(share, share[-1] ** part)))
        if time[0] > 0:
            start = np.median(share**2 * time)
            found.append((Shape.INVERSE_SQRT, _distance(share, np.minimum(np.sqrt(start / time), 1))))
    return sorted(found, key=lambda pair: -pair[1])  # the best fit of a shape last, so that a dict keeps it


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean((one - other) ** 2)))


def _in_steps(changes: NDArray[np.float64]) -> bool:
    """Whether the rate falls at once and then stays, rather than falling on and on."""
    falls = np.flatnonzero(changes < -1e-4)
    after = changes[falls[0] + 1 :]
    steady = len(after) == 0 or np.mean(np.abs(after) < 1e-4) >= _STEADY_SHARE
    return bool(steady and changes.min() < -0.05)


def _rises(share: NDArray[np.float64]) -> bool:
    return bool(np.max(np.maximum.accumulate(share) - share) <= _FLAT)
