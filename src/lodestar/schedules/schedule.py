"""A schedule: the learning rate of every update, with a name.

Comes in: a name and rates. Goes out: the rate of any update. Steps count updates from 1: `schedule(1)` is the learning
rate of the first update. Knows nothing of families, trials or training jobs.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class Schedule:
    """The learning rate of every update, with a name. Call it with an update's number (from 1), or read `rates`."""

    name: str
    rates: NDArray[np.float64]

    def __init__(self, name: str, rates: ArrayLike):
        values = np.array(rates, dtype=np.float64, ndmin=1)
        values.flags.writeable = False
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "rates", values)
        if values.ndim != 1 or not len(values):
            raise ValueError(f"schedule {name!r}: rates must be a list of numbers, one an update, got {values.shape}")
        bad = np.flatnonzero(~np.isfinite(values) | (values < 0))
        if len(bad):
            raise ValueError(
                f"schedule {name!r}: a learning rate must be a finite number >= 0, got {values[bad[0]]} at update "
                f"{bad[0] + 1}. Fix: check the shape's parameters"
            )

    def __call__(self, step: int) -> float:
        """The learning rate of the `step`-th update. Before the first and after the last, the ends hold."""
        return float(self.rates[min(max(int(step), 1), len(self.rates)) - 1])

    def __len__(self) -> int:
        return len(self.rates)

    def __repr__(self) -> str:
        return f"Schedule({self.name!r}, {len(self)} updates, peak {self.peak:g})"

    @property
    def peak(self) -> float:
        """The highest rate."""
        return float(self.rates.max())
