"""Candidates' runs, drawn as far as a decision needs them. The same numbers as `Forecaster.decode`, for less work.

Comes in: latents (members, samples, latent). Goes out: loss, metric and lr of some points or some samples, in the
user's units. Solving the ODE gives the latent path; reading it into channels costs more, so a rule that looks near the
present reads only there. With the fixed-step solver the path is a cubic between knots: four states of each hold all of
it, however many points the run has. Reading goes in groups that stay in the processor's cache. A rule that looks
everywhere gets plain `decode`. Knows nothing of what the candidates are for.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster, Trajectories

_GROUP = 3_000  # latent states read at once


class Drawn:
    """Runs that are decoded where they are looked at."""

    def __init__(self, forecaster: Forecaster, latents: NDArray[np.float64]):
        self._forecaster, self._latents = forecaster, latents
        self._steps = forecaster.network.shape.steps if forecaster.network.shape.solver == "rk4" else 0
        self._all: Trajectories | None = None  # whole runs, once somebody has looked at all of them

    def between(self, first: int, stop: int) -> Trajectories:
        """Points [first, stop) of every sample: (members, samples, stop - first)."""
        if stop - first == self._forecaster.points:
            self._all = self._forecaster.decode(self._latents)
            return self._all
        return self._read(self._path, np.arange(first, stop))

    def whole(self, samples: list[int]) -> Trajectories:
        """All points of a few samples, as every member draws them: (members, len(samples), points)."""
        if self._all is not None:
            return Trajectories(*(part[:, samples] for part in (self._all.loss, self._all.metric, self._all.lr)))
        return self._read(self._path[:, samples], np.arange(self._forecaster.points))

    def at(self, points: NDArray[np.int64]) -> Trajectories:
        """One point of each sample, points (members, samples): each channel (members, samples)."""
        if self._all is not None:
            kept = (self._all.loss, self._all.metric, self._all.lr)
            return Trajectories(*(np.take_along_axis(part, points[..., None], axis=-1)[..., 0] for part in kept))
        if self._steps:
            nodes, rows = self._rows(points.ravel())
            assert rows is not None
            states = np.matmul(rows.reshape(*points.shape, 1, -1), self._path[:, :, nodes])
        else:
            states = np.take_along_axis(self._path, points[..., None, None], axis=2)
        return self._units(self._forecaster.network.read(states)[:, :, 0])

    @functools.cached_property
    def _path(self) -> NDArray[np.float64]:
        """The latent path (members, samples, nodes, latent): four nodes an interval, or one a point."""
        times = np.arange(3 * self._steps + 1) / (3 * self._steps) if self._steps else self._forecaster.times
        return self._forecaster.network.states(self._latents, times)

    def _read(self, path: NDArray[np.float64], points: NDArray[np.int64]) -> Trajectories:
        """The same consecutive points of every path, a few points of a few samples at a time."""
        members, samples = path.shape[:2]
        out = np.empty((members, samples, len(points), 3))
        length = min(len(points), max(1, self._forecaster.points // 6))
        size = max(1, _GROUP // (members * length))
        for first in range(0, len(points), length):
            part = slice(first, first + length)
            nodes, rows = self._rows(points[part])
            for start in range(0, samples, size):
                group = path[:, start : start + size, nodes]
                states = group if rows is None else np.matmul(rows, group)
                out[:, start : start + size, part] = self._forecaster.network.read(states)
        return self._units(out)

    def _rows(self, points: NDArray[np.int64]) -> tuple[slice, NDArray[np.float64] | None]:
        """The nodes of the path around some points, in order, and their weights (points, nodes) in each: a cubic."""
        if not self._steps:
            return slice(points[0], points[-1] + 1), None
        place = (points + 1) / self._forecaster.points * self._steps
        left = np.minimum(place.astype(np.int64), self._steps - 1)
        low, high = int(left.min()), int(left.max()) + 1
        s, node, at = 3.0 * (place - left), 3 * (left - low), np.arange(len(points))
        rows = np.zeros((len(points), 3 * (high - low) + 1))
        rows[at, node] = (1 - s) * (s - 2) * (s - 3) / 6
        rows[at, node + 1] = s * (s - 2) * (s - 3) / 2
        rows[at, node + 2] = s * (s - 1) * (3 - s) / 2
        rows[at, node + 3] = s * (s - 1) * (s - 2) / 6
        return slice(3 * low, 3 * high + 1), rows

    def _units(self, raw: NDArray[np.float64]) -> Trajectories:
        channels = self._forecaster.recipe.normaliser.channels
        return Trajectories(*(channel.inverse(raw[..., i]) for i, channel in enumerate(channels)))
