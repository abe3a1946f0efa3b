"""Where candidates come from: interchangeable sources of latents.

"local": the live latent and noise around it (the paper's). "references": the best past runs, encoded at the same place
in the run, then the same with noise: local noise cannot leave the region of a flat stretch, past runs can. "midpoint":
halfway between the live latent and each of those. Comes in: latents. Goes out: latents (members, samples, latent) and
the name of each sample's source. A new source is one class that holds its own parameters, and its place in `SOURCES`.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lodestar.scheduler.steps.perturb import UNITS, perturb

Latents = NDArray[np.float64]


class Known(NamedTuple):
    """The latents a source starts from."""

    live: Latents  # (members, latent)
    references: Latents  # (members, runs, latent), best first
    spread: Latents  # (members, latent), of the training latents


class Source(Protocol):
    """A source of candidates. Its noise is in a unit of `perturb`: the spread of the training latents, usually."""

    name: ClassVar[str]

    @property
    def noise(self) -> float: ...

    @property
    def noise_unit(self) -> str: ...

    def draw(self, known: Known, count: int, rng: np.random.Generator) -> Latents:
        """`count` latents (members, count, latent)."""
        ...


@dataclasses.dataclass(frozen=True)
class Local:
    """The live latent, unperturbed first, then with noise."""

    name: ClassVar[str] = "local"
    noise: float
    noise_unit: str = "spread"

    def draw(self, known: Known, count: int, rng: np.random.Generator) -> Latents:
        """Around the live latent."""
        return perturb(known.live, count, self.noise, known.spread, rng, self.noise_unit)


@dataclasses.dataclass(frozen=True)
class References:
    """Past runs, best first; once they are used up, the same again with noise."""

    name: ClassVar[str] = "references"
    noise: float
    noise_unit: str = "spread"

    def draw(self, known: Known, count: int, rng: np.random.Generator) -> Latents:
        """At and around past runs."""
        members, runs, latent = known.references.shape
        draws = rng.standard_normal((members, count, latent))
        draws[:, :runs] = 0.0
        chosen = known.references[:, np.arange(count) % runs]
        return chosen + self.noise * UNITS[self.noise_unit](chosen, known.spread) * draws


@dataclasses.dataclass(frozen=True)
class Midpoint:
    """Halfway from the live latent to what `References` draws."""

    name: ClassVar[str] = "midpoint"
    noise: float
    noise_unit: str = "spread"

    def draw(self, known: Known, count: int, rng: np.random.Generator) -> Latents:
        """Between the live latent and past runs."""
        return 0.5 * (known.live[:, None] + References(self.noise, self.noise_unit).draw(known, count, rng))


SOURCES: dict[str, type[Local] | type[References] | type[Midpoint]] = {
    source.name: source for source in (Local, References, Midpoint)
}


def gather(
    sources: Sequence[Source], samples: int, known: Known, rng: np.random.Generator
) -> tuple[Latents, list[str]]:
    """`samples` latents shared out over the sources, the first sources taking what is left over."""
    if known.references.shape[1] == 0:  # a forecaster without past runs still has its noise
        sources = [Local(sources[0].noise, sources[0].noise_unit)]
    parts, labels = [], []
    for index, source in enumerate(sources):
        count = samples // len(sources) + (index < samples % len(sources))
        parts.append(source.draw(known, count, rng))
        labels += [source.name] * count
    return np.concatenate(parts, axis=1), labels
