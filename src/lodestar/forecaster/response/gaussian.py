"""Gaussian-process regression with a fixed number of inducing points, and how a run departs from it.

    y(run, t) = g(x(run, t)) + u(run, t) + noise

g is what all runs share, a smooth function of the schedule's history x. u is a run's own: an offset that stays, and a
drift that is forgotten (its seed, and every setting that no log names). Observing the first part of a run tells of its
u, so a forecast passes near what was measured, as closely as past runs say it should. NumPy only; `lodestar.fitting`
finds the numbers.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.response.products import Matrix, product


@dataclasses.dataclass(frozen=True)
class Kernel:
    """Covariance of g: a smooth part with a length for each feature, a linear part, a constant."""

    lengths: NDArray[np.float64]  # (features,)
    smooth: float
    linear: float

    def __call__(self, one: Matrix, other: Matrix) -> Matrix:
        """Between (n, features) and (m, features)."""
        a, b = one / self.lengths, other / self.lengths
        far = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2.0 * product(a, b.T)
        alike = self.smooth * np.exp(-0.5 * np.maximum(far, 0.0))
        return alike + self.linear * product(one, other.T) / one.shape[1] + 1.0

    def diagonal(self, points: Matrix) -> NDArray[np.float64]:
        """The variance at each point."""
        return self.smooth + self.linear * (points**2).sum(axis=1) / points.shape[1] + 1.0


@dataclasses.dataclass(frozen=True)
class RunKernel:
    """Covariance of u over the run's clock: `offset` stays, `drift` fades with the ratio of times over `memory`."""

    offset: float
    drift: float
    memory: float
    noise: float

    def __call__(self, one: NDArray[np.float64], other: NDArray[np.float64]) -> Matrix:
        """Between fractions of the run (n,) and (m,)."""
        apart = np.abs(np.log(one[:, None] / other[None]))
        return self.offset + self.drift * np.exp(-apart / self.memory)


@dataclasses.dataclass(frozen=True)
class Posterior:
    """g after the training runs: its mean is k(x, inducing) @ weights; `known` is what they took from its variance."""

    kernel: Kernel
    inducing: Matrix  # (inducing, features)
    weights: NDArray[np.float64]  # (inducing,)
    known: Matrix  # (inducing, inducing)

    def mean(self, points: Matrix) -> NDArray[np.float64]:
        """Expected g at each point."""
        return self._pulled(self.kernel(points, self.inducing))

    def moments(self, points: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Expected g at each point, and how unsure it is: a variance."""
        near = self.kernel(points, self.inducing)
        left = self.kernel.diagonal(points) - (product(near, self.known) * near).sum(axis=1)
        return self._pulled(near), np.maximum(left, 0.0)

    def covariance(self, one: Matrix, other: Matrix) -> Matrix:
        """Of g between points."""
        near = self.kernel(one, self.inducing)
        return self.kernel(one, other) - product(product(near, self.known), self.kernel(self.inducing, other))

    def _pulled(self, near: Matrix) -> NDArray[np.float64]:
        return np.einsum("nk,k->n", near, self.weights)  # not by BLAS, which would ask for threads
