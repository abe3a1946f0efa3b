"""Candidates' runs, drawn as far as a decision needs them. The same numbers as `Forecaster.decode`, for less work.

Comes in: latents (members, samples, latent). Goes out: loss, metric and lr of some points or some samples, in the
user's units. Solving the ODE is cheap, reading its states into channels is not: a rule that looks near the present
reads only there. Reading goes in small groups, which stay in the processor's cache; states of very many samples or
points are made block by block, so that memory stays bounded. Knows nothing of what the candidates are for.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster, Trajectories

_BLOCK = 32_000_000  # bytes of latent states held at once
_GROUP = 3_000  # latent states read at once


class Drawn:
    """Lazily decoded runs."""

    def __init__(self, forecaster: Forecaster, latents: NDArray[np.float64], block_bytes: int = _BLOCK):
        self._forecaster = forecaster
        self._latents = latents
        members, samples, size = latents.shape
        each = max(1, block_bytes // (members * size * forecaster.points * 8))
        self._blocks = [slice(start, min(start + each, samples)) for start in range(0, samples, each)]
        self._states: NDArray[np.float64] | None = None
        self._all: Trajectories | None = None

    def between(self, first: int, stop: int) -> Trajectories:
        """Points [first, stop) of every sample: (members, samples, stop - first)."""
        parts = [self._read(self._block(block)[:, :, first:stop]) for block in self._blocks]
        found = self._units(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))
        if stop - first == self._forecaster.points:
            self._all = found
        return found

    def at(self, points: NDArray[np.int64]) -> Trajectories:
        """One point of each sample, points (members, samples): each channel (members, samples)."""
        if self._all is not None:
            kept = (self._all.loss, self._all.metric, self._all.lr)
            return Trajectories(*(np.take_along_axis(part, points[..., None], axis=-1)[..., 0] for part in kept))
        parts = []
        for block in self._blocks:
            where = points[:, block, None, None]
            parts.append(self._read(np.take_along_axis(self._block(block), where, axis=2)))
        return self._units(np.concatenate(parts, axis=1)[:, :, 0])

    def whole(self, samples: list[int]) -> Trajectories:
        """All points of a few samples, as every member draws them: (members, len(samples), points)."""
        if self._all is not None:
            return Trajectories(*(part[:, samples] for part in (self._all.loss, self._all.metric, self._all.lr)))
        if self._states is not None:
            return self._units(self._read(self._states[:, samples]))
        return self._forecaster.decode(self._latents[:, samples])

    def _block(self, block: slice) -> NDArray[np.float64]:
        """Latent states of some samples; kept if they are all there is."""
        if self._states is not None:
            return self._states
        states = self._forecaster.network.states(self._latents[:, block], self._forecaster.times)
        if len(self._blocks) == 1:
            self._states = states
        return states

    def _read(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """States (members, samples, times, latent) to channels (..., 3), in model units."""
        out = np.empty((*states.shape[:-1], 3))
        group = max(1, _GROUP // max(1, states.shape[0] * states.shape[2]))
        for start in range(0, states.shape[1], group):
            out[:, start : start + group] = self._forecaster.network.read(states[:, start : start + group])
        return out

    def _units(self, raw: NDArray[np.float64]) -> Trajectories:
        channels = self._forecaster.recipe.normaliser
        return Trajectories(*(c.inverse(raw[..., i]) for i, c in enumerate(channels.channels)))
