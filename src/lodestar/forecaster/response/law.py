"""A loss law: what the learning rate alone says of the level that loss or metric has reached.

    E = E0 + A S^-a + B sum_k rate_k^2 (1 + C (S - S_k))^-b

S is the running sum of the rate (functional scaling laws, arXiv 2509.19189; multi-power law, 2503.12811). Few runs
determine it, so it carries a forecaster through its first ten. Which a, C and b is left open: several laws are
averaged, each as well as it fits. E is the loss, or the metric's distance from its best possible value.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.response.history import Past

_LEAST = 1e-9


@dataclasses.dataclass(frozen=True)
class Law:
    """Some laws and the weight of each."""

    weights: NDArray[np.float64]  # (laws,)
    coefficients: NDArray[np.float64]  # (laws, 3): E0, A, B, none below zero
    exponents: NDArray[np.float64]  # (laws, 3): a, C, b

    def log_level(self, past: Past) -> NDArray[np.float64]:
        """log E at the times that are looked at: (schedules, times)."""
        terms = list(dict.fromkeys((float(c), float(b)) for _, c, b in self.exponents))
        noise = past.annealing(terms)
        out = np.zeros(past.progress.shape)
        for weight, (floor, gain, loss), (a, c, b) in zip(self.weights, self.coefficients, self.exponents, strict=True):
            level = floor + gain * past.progress**-a + loss * noise[terms.index((float(c), float(b)))]
            out += weight * np.log(np.maximum(level, _LEAST))
        return out
