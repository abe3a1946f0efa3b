"""How one channel, loss or metric, answers to the learning rate: before a run, and given what was seen of it."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.response.gaussian import Matrix, Posterior, RunKernel
from lodestar.forecaster.response.history import CELLS, Cells, Clock, Rates
from lodestar.forecaster.response.law import Law

_COMES_BACK, _COMES_BACK_OVER = 0.1, 0.5  # shares of a run: till then a run far out comes back, and stays from then on


@dataclasses.dataclass(frozen=True)
class Seen:
    """What was observed of one run: cells, in order, and the channel's value at the end of each, in model units."""

    at: Cells
    values: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Expected:
    """A channel (schedules, times) at the end of some cells, model units: its mean, and variances around it.

    `variance` is that of runs; `doubt` the part of it that more past runs like these would take away.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    doubt: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class ChannelResponse:
    """A channel's law, features and posterior. `low`, `high`: what training runs reached at the end, and a margin."""

    law: Law | None
    feature_mean: NDArray[np.float64]
    feature_std: NDArray[np.float64]
    mean: float
    std: float
    posterior: Posterior
    run: RunKernel
    low: float
    high: float

    def inputs(self, clock: Clock, rates: Rates, at: Cells) -> NDArray[np.float64]:
        """Standardised features (schedules, times, features), the law's level among them."""
        return self.standardised(raw_inputs(self.law, clock, rates, at))

    def standardised(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Raw inputs in the units of the kernel."""
        return (raw - self.feature_mean) / self.feature_std

    def expected(self, clock: Clock, rates: Rates, at: Cells, seen: Seen | None = None) -> Expected:
        """The channel under each schedule. With `seen`: of one run that has come so far, and goes on under each."""
        points = self.inputs(clock, rates, at)
        alone = self.at(points)
        return alone if seen is None else self.given(alone, points, at, self.inputs(clock, rates[:1], seen.at)[0], seen)

    def at(self, points: NDArray[np.float64]) -> Expected:
        """The channel at standardised inputs (schedules, times, features)."""
        flat = points.reshape(-1, points.shape[-1])
        mean, doubt = (part.reshape(points.shape[:2]) for part in self.posterior.moments(flat))
        own = self.run.offset + self.run.drift + self.run.noise
        return Expected(self.mean + self.std * mean, self.std**2 * (doubt + own), self.std**2 * doubt)

    def given(self, alone: Expected, points: NDArray[np.float64], at: Cells, own: Matrix, seen: Seen) -> Expected:
        """The same, now that `seen` was observed of the run; `own`: the run's inputs there."""
        shift, gain = self._learned(points, at, own, seen)
        noise = self.std**2 * self.run.noise
        before = alone.variance - noise
        variance = np.maximum(before - self.std**2 * gain, 1e-4 * before) + noise
        return Expected(alone.mean + self.std * shift, variance, alone.doubt)

    def clipped(self, values: NDArray[np.float64], now: float = 0.0, seen: float = 0.0) -> NDArray[np.float64]:
        """Finals no further out than training runs ever came, and a margin: smooth functions run away outside.

        A run that stands further out `now` may stay there, the more of it was seen: early on it may yet come back.
        """
        stay = float(np.clip((seen - _COMES_BACK) / _COMES_BACK_OVER, 0.0, 1.0))
        low, high = (end + stay * (now - end) for end in (self.low, self.high))
        return np.clip(values, min(self.low, low), max(self.high, high))

    def _learned(self, points: NDArray, at: Cells, own: Matrix, seen: Seen) -> tuple[NDArray, NDArray]:
        """What the seen part adds to the mean, and takes from the variance, at points (schedules, times, features)."""
        then, now = _fraction(seen.at), _fraction(at)
        count, flat = len(then), points.reshape(-1, points.shape[-1])
        alike = self.posterior.covariance(own, np.concatenate([own, flat]))  # both at once: half of the work is shared
        inside = alike[:, :count] + self.run(then, then) + self.run.noise * np.eye(count)
        off = (seen.values - self.mean) / self.std - self.posterior.mean(own)
        factor = np.linalg.cholesky(inside)
        solved = np.linalg.solve(factor, off)
        cross = alike[:, count:].reshape(count, *points.shape[:2]) + self.run(then, now)[:, None, :]
        half = np.linalg.solve(factor, cross.reshape(count, -1)).reshape(cross.shape)
        return np.einsum("o,ost->st", solved, half), (half**2).sum(axis=0)


def raw_inputs(law: Law | None, clock: Clock, rates: Rates, at: Cells) -> NDArray[np.float64]:
    """Features before they are standardised."""
    past = clock.look(rates, at)
    if law is None:
        return past.features()
    return np.concatenate([past.features(), law.log_level(past)[..., None]], axis=-1)


def _fraction(at: Cells) -> NDArray[np.float64]:
    return (at + 1.0) / CELLS
