"""The learning-curve law through the last value seen: y(t) = y_now + b (t^-c - t_now^-c). Later values count more."""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.response.history import CELLS

_EXPONENTS = np.geomspace(0.05, 3.0, 10)
_LEAST = 4  # values; with fewer, the last one is held


def power_law_final(values: NDArray[np.float64], first: int, last: int) -> float:
    """A channel (cells,) seen from cell `first` to `last`, at the end of the run."""
    seen = values[first : last + 1]
    if len(seen) < _LEAST:
        return float(seen[-1])
    time = (np.arange(first, last + 1) + 1.0) / CELLS
    powers = time[None] ** -_EXPONENTS[:, None]
    rise, off = powers - powers[:, -1:], seen - seen[-1]
    slopes = (time * rise * off).sum(axis=1) / ((time * rise**2).sum(axis=1) + 1e-9)
    best = int(np.argmin((time * (off - slopes[:, None] * rise) ** 2).sum(axis=1)))
    return float(seen[-1] + slopes[best] * (1.0 - powers[best, -1]))
