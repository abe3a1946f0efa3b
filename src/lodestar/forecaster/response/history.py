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

    def progress(self, rates: Rates, at: Cells) -> NDArray[np.float64]:
        """S at the end of each cell: (schedules, times)."""
        return np.maximum(np.cumsum(rates, axis=1)[:, at] / self.sum, 1e-9)

    def annealing(self, rates: Rates, at: Cells, terms: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
        """Sum over the past of rate^2 (1 + C (S - S_k))^-b, for each (C, b): (terms, schedules, times).

        The noise that past rates have left in the weights, less what later steps have averaged away.
        """
        done = np.cumsum(rates, axis=1) / self.sum
        power = (rates / self.sum) ** 2 * rates.shape[1]
        out = np.empty((len(terms), len(rates), len(at)))
        for place, cell in enumerate(at):
            since = done[:, cell : cell + 1] - done[:, : cell + 1]
            logs = {pace: np.log1p(pace * since) for pace, _ in terms}
            for number, (pace, exponent) in enumerate(terms):
                out[number, :, place] = np.einsum("nk,nk->n", power[:, : cell + 1], np.exp(-exponent * logs[pace]))
        return out

    def faded(self, rates: Rates, at: Cells) -> NDArray[np.float64]:
        """The mean rate over the last `FADES` of S, exponentially forgotten: (fades, schedules, times)."""
        done = np.cumsum(rates, axis=1) / self.sum
        out = np.empty((len(FADES), len(rates), len(at)))
        for place, cell in enumerate(at):
            since = done[:, cell : cell + 1] - done[:, : cell + 1]
            past = rates[:, : cell + 1]
            for number, fade in enumerate(FADES):
                weight = np.exp(-since / fade) * past
                out[number, :, place] = np.einsum("nk,nk->n", weight, past) / np.maximum(weight.sum(axis=1), 1e-300)
        return out

    def features(self, rates: Rates, at: Cells) -> Features:
        """log S, log time, the rate now, its faded means, the annealing terms; all logarithms."""
        floor = _FLOOR * self.peak
        time = np.broadcast_to(np.log((at + 1.0) / rates.shape[1]), (len(rates), len(at)))
        noise = self.annealing(rates, at, NOISES)
        columns = [np.log(self.progress(rates, at)), time, np.log(rates[:, at] + floor)]
        columns += list(np.log(self.faded(rates, at) + floor))
        columns += list(0.5 * np.log(noise + (floor / self.sum) ** 2 * rates.shape[1]))
        return np.stack(columns, axis=-1)


FEATURES = 3 + len(FADES) + len(NOISES)
