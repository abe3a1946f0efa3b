"""What a schedule has done so far: the features that loss and metric answer to, at any moment of a run.

Comes in: learning rates on `CELLS` equal cells of the run. Goes out: features at chosen cells. Every feature looks back
only, so each prefix of a run is a run with a shorter schedule, and a handful of runs gives hundreds of examples. Time
is counted in steps and in the running sum of the rate, S, the clock of the loss laws (arXiv 2408.11029, 2503.12811,
2509.19189).
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CELLS = 100
FADES = (0.01, 0.05, 0.2)  # memories of the rate, as a share of a typical run's S
NOISES = ((30.0, 1.0), (100.0, 0.7))  # (C, b) of the annealing terms that are features
_FLOOR = 3e-3  # of a typical peak: a rate of zero has a finite logarithm

Rates = NDArray[np.float64]  # (schedules, cells)
Cells = NDArray[np.int64]  # (times,): the last cell that is looked at
Features = NDArray[np.float64]  # (schedules, times, features)


def on_cells(values: NDArray[np.float64], cells: int = CELLS) -> Rates:
    """Means over equal cells of curves (n, length), each entry of which holds for an equal part of the run."""
    length = values.shape[-1]
    if length == cells:
        return values
    total = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    edges = np.arange(cells + 1) * (length / cells)
    left = np.minimum(edges.astype(np.int64), length - 1)
    reached = total[..., left] + (edges - left) * values[..., left]
    return np.diff(reached, axis=-1) * (cells / length)


@dataclasses.dataclass(frozen=True)
class Clock:
    """The unit of S and of the rate: those of a typical training run, so that features are plain numbers."""

    sum: float  # median over runs of the sum of the rate over cells
    peak: float  # median peak rate

    def __post_init__(self):
        if not (np.isfinite(self.sum) and np.isfinite(self.peak) and self.sum > 0 and self.peak > 0):
            raise ValueError(f"a clock needs a sum and a peak above zero, got {self.sum} and {self.peak}")

    @classmethod
    def of(cls, rates: Rates) -> "Clock":
        """Typical of these schedules."""
        return cls(float(np.median(rates.sum(axis=1))), float(np.median(rates.max(axis=1))))

    def look(self, rates: Rates, at: Cells) -> "Past":
        """What schedules have done by the end of some cells."""
        done = np.cumsum(rates, axis=1) / self.sum
        since = done[:, at, None] - done[:, None]
        if np.any(at < rates.shape[1] - 1):
            since[:, np.arange(rates.shape[1]) > at[:, None]] = np.inf
        return Past(self, rates, at, np.maximum(done[:, at], 1e-9), since)

    def features(self, rates: Rates, at: Cells) -> Features:
        """Those of `Past`."""
        return self.look(rates, at).features()


@dataclasses.dataclass(frozen=True)
class Past:
    """What schedules have done by some times. `progress` is S then, `since` how much S has grown since each cell."""

    clock: Clock
    rates: Rates
    at: Cells
    progress: NDArray[np.float64]  # (schedules, times)
    since: NDArray[np.float64]  # (schedules, times, cells); of cells to come: infinity

    def annealing(self, terms: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
        """Sum over the past of rate^2 (1 + C (S - S_k))^-b, for each (C, b): (terms, schedules, times).

        The noise that past rates have left in the weights, less what later steps have averaged away.
        """
        power = (self.rates / self.clock.sum) ** 2 * self.rates.shape[1]
        logs = {pace: np.log1p(pace * self.since) for pace, _ in terms}
        return np.stack([np.einsum("nk,ntk->nt", power, np.exp(-exponent * logs[pace])) for pace, exponent in terms])

    def faded(self) -> NDArray[np.float64]:
        """The mean rate over the last `FADES` of S, exponentially forgotten: (fades, schedules, times)."""
        weights = [np.exp(-self.since / fade) * self.rates[:, None] for fade in FADES]
        means = [np.einsum("ntk,nk->nt", part, self.rates) / np.maximum(part.sum(axis=2), 1e-300) for part in weights]
        return np.stack(means)

    def features(self) -> Features:
        """log S, log time, the rate now, its faded means, the annealing terms; all logarithms."""
        floor, cells = _FLOOR * self.clock.peak, self.rates.shape[1]
        time = np.broadcast_to(np.log((self.at + 1.0) / cells), self.progress.shape)
        columns = [np.log(self.progress), time, np.log(self.rates[:, self.at] + floor)]
        columns += list(np.log(self.faded() + floor))
        columns += list(0.5 * np.log(self.annealing(NOISES) + (floor / self.clock.sum) ** 2 * cells))
        return np.stack(columns, axis=-1)


FEATURES = 3 + len(FADES) + len(NOISES)
