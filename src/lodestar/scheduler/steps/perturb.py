"""Step 2, perturb: one latent to an ensemble around it, z0 + noise, the first left as it is.

Comes in: latents (members, latent). Goes out: (members, samples, latent). The noise is in units of the spread of the
training latents, per member and dimension: an absolute 0.15 means nothing in a latent space without a scale.
"""

import numpy as np
from numpy.typing import NDArray


def perturb(
    z0: NDArray[np.float64], samples: int, noise: float, spread: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """`samples` latents around z0 (members, latent): epsilon ~ N(0, (noise x spread)^2), and none for the first."""
    draws = rng.standard_normal((z0.shape[0], samples, z0.shape[1]))
    draws[:, 0] = 0.0
    return z0[:, None] + noise * spread[:, None] * draws
