"""One forecast of the final metric out of several, and how far it can be trusted.

Comes in: the final metric by each way of forecasting. Goes out: their mixture, with an interval. The weights, and how
many of the model's own standard deviations the truth lay off, were measured on held-out runs at each share seen. A way
that does not help on these runs gets no weight.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.intervals import LEVELS
from lodestar.forecaster.response.continuation import KNOTS

WAYS = ("schedule", "schedule and run so far", "runs that stood here", "last value")
SHARES = np.concatenate([[0.0], KNOTS])  # shares of a run seen, at which weights are measured


@dataclasses.dataclass(frozen=True)
class Mixture:
    """Weights (shares, ways), each row adding up to one; widths (levels, shares) in the model's deviations."""

    weights: NDArray[np.float64]
    widths: NDArray[np.float64]

    def __post_init__(self):
        if self.weights.shape != (len(SHARES), len(WAYS)) or self.widths.shape != (len(LEVELS), len(SHARES)):
            raise ValueError(f"a mixture needs other shapes than {self.weights.shape} and {self.widths.shape}")

    def at(self, seen: float) -> NDArray[np.float64]:
        """The weight of each way (ways,) with that share of the run seen."""
        return np.array([np.interp(seen, SHARES, column) for column in self.weights.T])

    def width(self, seen: float, level: float) -> float:
        """Deviations to either side that hold `level` of such runs."""
        if level not in LEVELS:
            raise ValueError(f"level must be one of {LEVELS}, got {level}")
        return float(np.interp(seen, SHARES, self.widths[LEVELS.index(level)]))
