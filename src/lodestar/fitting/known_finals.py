"""Final metrics by the latent ODE with the schedule known, of runs held out from it: what its weight rests on."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.fitting.calibration import contexts_of
from lodestar.fitting.dataset import Prepared
from lodestar.fitting.folds import Fold
from lodestar.fitting.response.cells import rate_of
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.response.history import on_cells
from lodestar.forecaster.response.mixture import SHARES


def held_out_finals(forecaster: Forecaster, data: Prepared, folds: Sequence[Fold]) -> NDArray[np.float64]:
    """(shares, runs), model units: each held-out run by the member that never saw it, NaN where there is none."""
    found = np.full((len(SHARES), len(data)), np.nan)
    if not forecaster.reads_schedules:
        return found
    for member, fold in enumerate(folds):
        runs = fold.held_out[data.mask[fold.held_out, -1, LR]]
        if len(runs) == 0:
            continue
        rates = np.stack([on_cells(rate_of(data, run)[None])[0] for run in runs])
        for place, share in enumerate(SHARES):
            contexts = contexts_of(data, runs, 0.0, share) if share else []
            found[place, runs] = forecaster.known_finals(rates, *contexts)[member]
    return found
