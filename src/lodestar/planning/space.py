"""Schedules to choose from: quasi-random ones, the families everybody knows, and those of the best past runs.

Comes in: a forecaster, for the rates its runs have used. Goes out: rates on the cells of a run, one row a schedule. A
search over free curves walks into the model's errors; these are curves that somebody might draw.
"""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.preprocessing.grid import filled
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.response.history import CELLS, on_cells
from lodestar.schedules.families import FAMILIES, trapezoid

PAST_RUN = "past run"
_DRAWN = 1024  # quasi-random schedules
_PEAKS = 16  # of each plain family
_PLAIN = ("constant", "cosine", "onecycle", "step", "linear", "wsd")
_WARMUPS, _PLATEAUS, _POWERS = (0.0, 0.3), (0.0, 0.9), (0.5, 2.0)
_FLOORS = (1e-3, 0.3)
# Additive recurrence with the roots of x^(d+1) = x + 1: points that spread evenly, by NumPy alone.
_ROOT = 1.1673039782614187  # d = 5
_STRIDE = _ROOT ** -np.arange(1.0, 6.0)


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Some schedules: `rates` (schedules, cells), a name for each, and how many of them are plain families."""

    rates: NDArray[np.float64]
    names: tuple[str, ...]
    kinds: NDArray[np.str_]  # "drawn", "family" or "past run"

    def of(self, kind: str) -> NDArray[np.int64]:
        """Places of one kind."""
        return np.flatnonzero(self.kinds == kind)


def candidates(forecaster: Forecaster, *, count: int = _DRAWN, seed: int = 0) -> Candidates:
    """Schedules within the peak rates that past runs have used."""
    rates, words = _of_peaks(*peak_range(forecaster), count, seed)
    past, names = _past(forecaster)
    kinds = ["drawn"] * count + ["family"] * (len(rates) - count) + [PAST_RUN] * len(past)
    return Candidates(np.concatenate([rates, past]), (*words, *names), np.array(kinds))


@functools.lru_cache(maxsize=8)  # a live job asks for the same ones at every decision
def _of_peaks(low: float, high: float, count: int, seed: int) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Quasi-random schedules between two peaks, then the plain families; and their names."""
    families = [(FAMILIES[name](float(peak), CELLS)) for name in _PLAIN for peak in np.geomspace(low, high, _PEAKS)]
    rates = np.concatenate([_drawn(low, high, count, seed), np.stack([each.rates for each in families])])
    return rates, ("",) * count + tuple(each.words for each in families)


def peak_range(forecaster: Forecaster) -> tuple[float, float]:
    """The lowest and the highest peak rate of past runs, as far as the file knows them."""
    peaks = forecaster.facts.get("peak_lr")
    if isinstance(peaks, list) and len(peaks) == 2 and 0 < peaks[0] <= peaks[1]:
        return float(peaks[0]), float(peaks[1])
    return max(forecaster.ranges.lr_min, 1e-3 * forecaster.ranges.lr_max), forecaster.ranges.lr_max


def _drawn(low: float, high: float, count: int, seed: int) -> NDArray[np.float64]:
    """Trapezoids: peak, warm-up, plateau, power and floor of each spread evenly."""
    at = (0.5 + np.arange(1, count + 1)[:, None] * _STRIDE + 0.6180339887 * seed) % 1.0
    peaks = low * (high / low) ** at[:, 0]
    warmups = _WARMUPS[0] + (_WARMUPS[1] - _WARMUPS[0]) * at[:, 1] ** 2
    plateaus = (_PLATEAUS[0] + (_PLATEAUS[1] - _PLATEAUS[0]) * at[:, 2]) * (1.0 - warmups)
    powers = _POWERS[0] * (_POWERS[1] / _POWERS[0]) ** at[:, 3]
    floors = np.where(at[:, 4] < 0.5, 0.0, _FLOORS[0] * (_FLOORS[1] / _FLOORS[0]) ** (2 * at[:, 4] - 1))
    rows = zip(peaks, warmups, plateaus, powers, floors, strict=True)
    return np.stack([trapezoid(p, CELLS, warmup=w, plateau=s, power=q, floor=f).rates for p, w, s, q, f in rows])


def _past(forecaster: Forecaster) -> tuple[NDArray[np.float64], list[str]]:
    """The schedules of the reference runs that were logged to the end."""
    runs = forecaster.references
    whole = [run for run in range(len(runs)) if runs.mask[run, :, LR].any() and runs.mask[run, -1, LR]]
    rates = [
        forecaster.recipe.normaliser.lr.inverse(filled(runs.values[run, :, LR], runs.mask[run, :, LR])) for run in whole
    ]
    found = on_cells(np.stack(rates)) if rates else np.zeros((0, CELLS))
    return found, [runs.names[run] for run in whole]
