"""Transforms that make a channel easy to model, each with its inverse.

Comes in: values in the user's units. Goes out: values on a scale where differences mean the same everywhere. Loss goes
to its logarithm, accuracy to -log(1 - accuracy), the learning rate to log(lr + floor), so that a schedule that ends at
zero has a finite last point and a way back to exactly zero. Knows arrays only.
"""

import dataclasses
import enum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar.runs.run import Direction

MetricKind = Literal["auto", "accuracy", "percent", "loss", "any"]
_ACCURACY_FLOOR = 1e-3  # accuracy 1.0 stays finite: -log(1e-3)


class Kind(enum.StrEnum):
    """The shape of a transform."""

    LOG = "log"  # y = log(x + floor)
    COMPLEMENT = "complement"  # y = -log(1 + floor - x / top)
    IDENTITY = "identity"  # y = x


@dataclasses.dataclass(frozen=True)
class Transform:
    """One channel's transform. `floor` keeps the ends finite, `top` is the best possible value (1 or 100)."""

    kind: Kind
    floor: float = 0.0
    top: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "kind", Kind(self.kind))
        if not (np.isfinite(self.floor) and self.floor >= 0):
            raise ValueError(f"floor must be a finite number >= 0, got {self.floor}")
        if not (np.isfinite(self.top) and self.top > 0):
            raise ValueError(f"top must be a finite number > 0, got {self.top}")

    def forward(self, values: ArrayLike) -> NDArray[np.float64]:
        """To the modelling scale. Values outside the domain land on its edge (a live run may log anything)."""
        x = np.asarray(values, dtype=np.float64)
        if self.kind is Kind.LOG:
            return np.log(np.maximum(x + self.floor, np.finfo(np.float64).tiny))
        if self.kind is Kind.COMPLEMENT:
            return -np.log(np.maximum((1.0 + self.floor) - x / self.top, 0.5 * self.floor))
        return x

    def inverse(self, values: ArrayLike) -> NDArray[np.float64]:
        """Back to the user's units."""
        y = np.asarray(values, dtype=np.float64)
        if self.kind is Kind.LOG:
            return np.maximum(np.exp(np.minimum(y, 700.0)) - self.floor, 0.0)
        if self.kind is Kind.COMPLEMENT:
            return self.top * ((1.0 + self.floor) - np.exp(np.minimum(-y, 700.0)))
        return y

    def shown(self, values: ArrayLike) -> NDArray[np.float64]:
        """`inverse`, and into what such values can be: a forecast far out is no accuracy below nought."""
        back = self.inverse(values)
        return np.clip(back, 0.0, self.top) if self.kind is Kind.COMPLEMENT else back


def metric_transform(values: ArrayLike, direction: Direction, kind: MetricKind = "auto") -> Transform:
    """The transform for a validation metric: stated, or judged from its values and direction."""
    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    if kind == "auto":
        kind = _judge(x, direction)
    if kind == "accuracy":
        _inside(x, 0.0, 1.0, kind)
        return Transform(Kind.COMPLEMENT, floor=_ACCURACY_FLOOR, top=1.0)
    if kind == "percent":
        _inside(x, 0.0, 100.0, kind)
        return Transform(Kind.COMPLEMENT, floor=_ACCURACY_FLOOR, top=100.0)
    if kind == "loss":
        _inside(x, 0.0, np.inf, kind)
        return Transform(Kind.LOG, floor=_small(x))
    if kind == "any":
        return Transform(Kind.IDENTITY)
    raise ValueError(f"metric kind must be auto, accuracy, percent, loss or any, got {kind!r}")


def loss_transform(values: ArrayLike) -> Transform:
    """Log for a loss that is never negative, identity for one that is (an ELBO, say)."""
    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    return Transform(Kind.IDENTITY) if x.size and x.min() < 0 else Transform(Kind.LOG, floor=_small(x))


def lr_transform(peaks: ArrayLike, relative_floor: float = 1e-2) -> Transform:
    """log(lr + floor), the floor a fraction of the typical peak, so that a model can draw the end of a schedule."""
    rates = np.asarray(peaks, dtype=np.float64)
    rates = rates[np.isfinite(rates) & (rates > 0)]
    typical = float(np.median(rates)) if rates.size else 1e-3
    return Transform(Kind.LOG, floor=relative_floor * typical)


def _judge(x: NDArray, direction: Direction) -> MetricKind:
    if x.size == 0:
        return "any"
    if direction is Direction.MAX and x.min() >= 0 and x.max() <= 1:
        return "accuracy"
    if direction is Direction.MAX and x.min() >= 0 and 1 < x.max() <= 100:
        return "percent"
    return "loss" if direction is Direction.MIN and x.min() >= 0 else "any"


def _small(x: NDArray) -> float:
    """A floor far below anything logged, so that a value of exactly zero stays finite."""
    positive = x[x > 0]
    return float(1e-3 * np.min(positive)) if positive.size and np.any(x == 0) else 0.0


def _inside(x: NDArray, low: float, high: float, kind: str) -> None:
    bad = x[(x < low) | (x > high)]
    if bad.size:
        raise ValueError(
            f"metric kind {kind!r} needs values from {low:g} to {high:g}, got {bad[0]:g}. "
            "Fix: leave the kind at 'auto', or pass 'any'"
        )
