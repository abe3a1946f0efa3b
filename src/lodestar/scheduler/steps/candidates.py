"""Where candidates come from: interchangeable sources of latents, each one function.

"local": the live latent and noise around it (the paper's). "references": the best past runs, encoded at the same place
in the run, then the same with noise: local noise cannot leave the region of a flat stretch, past runs can. "midpoint":
halfway between the live latent and each of those. Comes in: latents. Goes out: latents (members, samples, latent) and
the name of each sample's source. A new source is one function and its line in `SOURCES`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lodestar.scheduler.steps.perturb import perturb

Latents = NDArray[np.float64]
Source = Callable[[Latents, Latents, int, float, Latents, np.random.Generator], Latents]


def local(
    live: Latents, references: Latents, count: int, noise: float, spread: Latents, rng: np.random.Generator
) -> Latents:
    """The live latent, unperturbed first, then with noise."""
    return perturb(live, count, noise, spread, rng)


def past_runs(
    live: Latents, references: Latents, count: int, noise: float, spread: Latents, rng: np.random.Generator
) -> Latents:
    """Past runs, best first; once they are used up, the same again with noise."""
    runs = references.shape[1]
    which = np.arange(count) % runs
    draws = rng.standard_normal((references.shape[0], count, references.shape[2]))
    draws[:, :runs] = 0.0
    return references[:, which] + noise * spread[:, None] * draws


def midpoint(
    live: Latents, references: Latents, count: int, noise: float, spread: Latents, rng: np.random.Generator
) -> Latents:
    """Halfway from the live latent to what `past_runs` gives."""
    return 0.5 * (live[:, None] + past_runs(live, references, count, noise, spread, rng))


SOURCES: dict[str, Source] = {"local": local, "references": past_runs, "midpoint": midpoint}


def gather(
    names: tuple[str, ...],
    samples: int,
    live: Latents,
    references: Latents,
    noise: float,
    spread: Latents,
    rng: np.random.Generator,
) -> tuple[Latents, list[str]]:
    """`samples` latents shared out over the sources, the first sources taking what is left over."""
    if references.shape[1] == 0:  # a forecaster without past runs still has its noise
        names = ("local",)
    parts, labels = [], []
    for index, name in enumerate(names):
        count = samples // len(names) + (index < samples % len(names))
        parts.append(SOURCES[name](live, references, count, noise, spread, rng))
        labels += [name] * count
    return np.concatenate(parts, axis=1), labels
