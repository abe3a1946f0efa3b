"""The normaliser: transform, then standardise, channel by channel; and the exact way back.

Comes in: loss, metric and lr in the user's units. Goes out: an array with a last axis of three channels, in the order
of `CHANNELS`. This is the only place that knows the order.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar.forecaster.preprocessing.transform import Transform

CHANNELS = ("loss", "metric", "lr")
LOSS, METRIC, LR = range(3)


@dataclasses.dataclass(frozen=True)
class Channel:
    """One channel's transform, and the mean and spread of the transformed training data."""

    transform: Transform
    mean: float = 0.0
    std: float = 1.0

    def __post_init__(self):
        if not (np.isfinite(self.mean) and np.isfinite(self.std) and self.std > 0):
            raise ValueError(f"a channel needs a finite mean and a std > 0, got mean {self.mean}, std {self.std}")

    def forward(self, values: ArrayLike) -> NDArray[np.float64]:
        """User's units to model units."""
        return (self.transform.forward(values) - self.mean) / self.std

    def inverse(self, values: ArrayLike) -> NDArray[np.float64]:
        """Model units to user's units."""
        return self.transform.inverse(np.asarray(values, dtype=np.float64) * self.std + self.mean)

    def shown(self, values: ArrayLike) -> NDArray[np.float64]:
        """`inverse`, within what such values can be."""
        return self.transform.shown(np.asarray(values, dtype=np.float64) * self.std + self.mean)


@dataclasses.dataclass(frozen=True)
class Normaliser:
    """The three channels' maps."""

    loss: Channel
    metric: Channel
    lr: Channel

    @property
    def channels(self) -> tuple[Channel, Channel, Channel]:
        """In the order of the array's last axis."""
        return (self.loss, self.metric, self.lr)

    def forward(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """An array (..., 3) in user's units to model units."""
        return np.stack([c.forward(values[..., i]) for i, c in enumerate(self.channels)], axis=-1)

    def inverse(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """An array (..., 3) in model units to user's units."""
        return np.stack([c.inverse(values[..., i]) for i, c in enumerate(self.channels)], axis=-1)

    def shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """`inverse` of (..., 3), within what such values can be."""
        return np.stack([c.shown(values[..., i]) for i, c in enumerate(self.channels)], axis=-1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file header."""
        return {name: dataclasses.asdict(c) for name, c in zip(CHANNELS, self.channels, strict=True)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Normaliser":
        """Back from `to_dict`."""
        return cls(
            **{
                name: Channel(Transform(**data[name]["transform"]), float(data[name]["mean"]), float(data[name]["std"]))
                for name in CHANNELS
            }
        )
