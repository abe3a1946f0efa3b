"""The past runs that looked most like this one: each goes on from where the run stands now, as it did then.

Comes in: learning rates to the end, and what was seen of a run. Goes out: its final metric by the nearest past run, and
by several, the nearer the more. Near: loss and metric as far as they were seen, the learning rate to the end. It needs
no law and no kernel; a run's hidden settings show in the company it keeps.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC
from lodestar.forecaster.response.history import CELLS, Rates
from lodestar.forecaster.response.products import product

_FLOOR = 1e-3  # of a typical peak: a rate of zero has a finite logarithm
_SEVERAL, _AT_LEAST = 8, 3  # runs that are averaged, and those of them that count in earnest
_SPARE = 0.5  # of the range of what past runs still changed: how far beyond it a run may go


@dataclasses.dataclass(frozen=True)
class Neighbours:
    """Finished past runs on the cells: log rates in units of their spread, loss and metric in model units."""

    log_rates: NDArray[np.float64]  # (runs, cells)
    stands: NDArray[np.float64]  # (runs, cells, 2)
    floor: float
    spread: float

    def __post_init__(self):
        count = len(self.log_rates)
        if count < 1 or self.log_rates.shape != (count, CELLS) or self.stands.shape != (count, CELLS, 2):
            raise ValueError(f"past runs have the wrong shapes: {self.log_rates.shape} and {self.stands.shape}")
        if not (np.isfinite(self.log_rates).all() and np.isfinite(self.stands).all()):
            raise ValueError("past runs must be finite")
        if not (np.isfinite(self.floor) and np.isfinite(self.spread) and self.floor > 0 and self.spread > 0):
            raise ValueError(f"past runs need a floor and a spread above zero, got {self.floor} and {self.spread}")

    @classmethod
    def of(cls, rates: Rates, stands: NDArray[np.float64]) -> "Neighbours":
        """These runs."""
        floor = _FLOOR * float(np.median(rates.max(axis=1)))
        logs = np.log(rates + floor)
        spread = float(logs.std()) + 1e-6
        return cls(logs / spread, stands, floor, spread)

    def reach(self, cell: int) -> tuple[float, float]:
        """The least and the most that the metric may yet change after a cell: as past runs did, and some more.

        Nought is always among it. Late in a run no past run changed much: then this one is not forecast to, either.
        """
        changes = self.stands[:, -1, METRIC] - self.stands[:, cell, METRIC]
        low, high = min(float(changes.min()), 0.0), max(float(changes.max()), 0.0)
        spare = _SPARE * (high - low)
        return low - spare, high + spare

    def finals(
        self, rates: Rates, stand: NDArray[np.float64], first: tuple[int, int], last: tuple[int, int]
    ) -> NDArray[np.float64]:
        """By the nearest run, and by several: (2, schedules), model units. The metric was seen, to `last[METRIC]`."""
        own = np.log(rates + self.floor) / self.spread
        far = (
            (own**2).sum(axis=1)[:, None] + (self.log_rates**2).sum(axis=1)[None] - 2.0 * product(own, self.log_rates.T)
        )
        far = np.maximum(far, 0.0) / CELLS
        for channel in (LOSS, METRIC):
            if last[channel] >= 0:
                seen = slice(first[channel], last[channel] + 1)
                far = far + ((self.stands[:, seen, channel] - stand[seen, channel]) ** 2).mean(axis=1)
        now = last[METRIC]
        ends = stand[now, METRIC] + self.stands[:, -1, METRIC] - self.stands[:, now, METRIC]
        near = np.argsort(far, axis=1, kind="stable")[:, :_SEVERAL]
        gaps = np.take_along_axis(far, near, axis=1)
        weights = np.exp(-gaps / (gaps[:, min(_AT_LEAST, gaps.shape[1]) - 1, None] + 1e-12))
        return np.stack([ends[near[:, 0]], (weights * ends[near]).sum(axis=1) / weights.sum(axis=1)])
