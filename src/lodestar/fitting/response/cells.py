"""Prepared runs on the cells of the response: rates to the end, loss and metric where they were observed."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.fitting.dataset import Prepared
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.preprocessing.normaliser import LOSS, LR, METRIC
from lodestar.forecaster.response.history import CELLS, Rates, on_cells
from lodestar.forecaster.response.response import Observed


@dataclasses.dataclass(frozen=True)
class CellRuns:
    """Some runs. `stands` (runs, cells, 2) in model units, `known` what of them was observed, `whole` who finished."""

    rates: Rates
    stands: NDArray[np.float64]
    known: NDArray[np.bool_]
    whole: NDArray[np.bool_]  # (runs,)

    def __len__(self) -> int:
        return len(self.rates)

    def pick(self, runs: NDArray[np.int64]) -> "CellRuns":
        """Some of them."""
        return CellRuns(self.rates[runs], self.stands[runs], self.known[runs], self.whole[runs])

    def observed(self, run: int, cell: int) -> Observed:
        """One run, seen to the end of a cell."""
        first, last = [0, 0], [-1, -1]
        stand = self.stands[run].copy()
        for channel in (LOSS, METRIC):
            cells = np.flatnonzero(self.known[run, : cell + 1, channel])
            if len(cells):
                first[channel], last[channel] = int(cells[0]), int(cells[-1])
                stand[last[channel] :, channel] = stand[last[channel], channel]
        return Observed(stand, (first[0], first[1]), (last[0], last[1]))


def cell_runs(data: Prepared, runs: NDArray[np.int64] | None = None) -> CellRuns:
    """Prepared runs, or some of them, on the cells. A rate that was not logged to the end is held."""
    runs = np.arange(len(data)) if runs is None else runs
    rates, stands = np.zeros((len(runs), CELLS)), np.zeros((len(runs), CELLS, 2))
    known = np.zeros((len(runs), CELLS, 2), dtype=bool)
    for place, run in enumerate(runs):
        values, mask = data.values[run], data.mask[run]
        rates[place] = on_cells(rate_of(data, run)[None])[0]
        logged = int(np.flatnonzero(mask[:, LR])[-1]) + 1
        seen = Observed.of(Context(values, mask, 0), data.recipe.points)
        if seen is None:
            continue
        stands[place] = seen.stand
        for channel in (LOSS, METRIC):
            stop = min(seen.last[channel] + 1, logged * CELLS // data.recipe.points)
            known[place, seen.first[channel] : stop, channel] = True
    return CellRuns(rates, stands, known, known[:, -1, METRIC])


def rate_of(data: Prepared, run: int | np.int64) -> NDArray[np.float64]:
    """One run's learning rate at every point, in the user's units, held where it was not logged."""
    values, fine = data.values[run, :, LR], np.flatnonzero(data.mask[run, :, LR])
    return data.recipe.normaliser.lr.inverse(np.interp(np.arange(len(values)), fine, values[fine]))
