"""Solves the latent ODE for many latents at once, in NumPy (the paper's equation 2).

Comes in: a field dz/dt = f(t, z) on arrays (..., latent), and latents z0 at t = 0. Goes out: states at the asked times.
`rk4` takes fixed steps with cubic Hermite between the knots. `tsit5` is the adaptive method of Tsitouras (2011) with an
integral step-size controller, every latent with its own steps, equal to what Diffrax does in the fit. Times are
fractions of the run; a time past the end is read at the end (the model is not trained beyond it).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FieldFunction = Callable[[NDArray, NDArray], NDArray]


def hermite_basis(times: NDArray[np.float64], steps: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The interval each time falls into, and the weights of (state, next state, slope, next slope) there (times, 4)."""
    t = np.clip(np.asarray(times, dtype=np.float64), 0.0, 1.0)
    left = np.minimum((t * steps).astype(np.int64), steps - 1)
    s = t * steps - left
    h = 1.0 / steps
    return left, np.stack(
        [(1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s), h * s * (1 - s) ** 2, h * s**2 * (s - 1)], axis=-1
    )


def hermite_matrix(times: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """The matrix that takes [states at knots, slopes at knots] to states at `times` (times, 2 * (steps + 1))."""
    left, weights = hermite_basis(times, steps)
    rows = np.arange(len(left))
    matrix = np.zeros((len(left), 2 * (steps + 1)))
    for column, weight in zip((left, left + 1, steps + 1 + left, steps + 2 + left), weights.T, strict=True):
        matrix[rows, column] = weight
    return matrix


def rk4_knots(field: FieldFunction, z0: NDArray, steps: int) -> NDArray:
    """States, then slopes, at the knots, stacked on the next-to-last axis: (..., 2 * (steps + 1), latent)."""
    h = 1.0 / steps
    knots = np.empty((*z0.shape[:-1], 2 * (steps + 1), z0.shape[-1]), dtype=z0.dtype)
    z = z0
    for i in range(steps + 1):
        t = np.asarray(i * h, dtype=z0.dtype)
        one = field(t, z)
        knots[..., i, :] = z
        knots[..., steps + 1 + i, :] = one
        if i == steps:
            break
        two = field(t + 0.5 * h, z + 0.5 * h * one)
        three = field(t + 0.5 * h, z + 0.5 * h * two)
        four = field(t + h, z + h * three)
        z = z + h / 6.0 * (one + 2.0 * (two + three) + four)
    return knots
