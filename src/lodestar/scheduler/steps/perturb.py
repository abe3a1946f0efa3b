"""Step 2, perturb: one latent to an ensemble around it, z0 + noise, the first left as it is.

Comes in: latents (members, latent). Goes out: (members, samples, latent). The noise is in units of the spread of the
training latents, per member and dimension: an absolute 0.15 means nothing in a latent space without a scale. The
authors' released code takes the size of the latent itself, |z0|, in each dimension. A new unit is one function, and
its place in `UNITS`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Unit = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def spread_of_training(latents: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """The spread (members, 1, latent), wherever the latents (members, runs, latent) lie."""
    return spread[:, None]


def size_of_latent(latents: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each latent (members, runs, latent) lies from zero in each dimension."""
    return np.abs(latents)


UNITS: dict[str, Unit] = {"spread": spread_of_training, "latent": size_of_latent}


def perturb(
    z0: NDArray[np.float64],
    samples: int,
    noise: float,
    spread: NDArray[np.float64],
    rng: np.random.Generator,
    unit: str = "spread",
) -> NDArray[np.float64]:
    """`samples` latents around z0 (members, latent): epsilon ~ N(0, (noise x unit)^2), and none for the first."""
    draws = rng.standard_normal((z0.shape[0], samples, z0.shape[1]))
    draws[:, 0] = 0.0
    return z0[:, None] + noise * UNITS[unit](z0[:, None], spread) * draws
