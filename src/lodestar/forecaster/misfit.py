"""How badly the beginning of a run is forecast: what tells a job that is unlike the past runs. NumPy only."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.forecast import Context
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC

_LOOKED_AT = 16  # past runs
HELD_OUT_UNLIKE = "held_out_unlike"
"""Among a forecaster's figures of quality: the worst held-out run's misfit at a fifth of the run, over the usual."""


def misfits(forecaster: Forecaster, contexts: Sequence[Context], *, levels: bool) -> NDArray[np.float64]:
    """How far each context's loss and metric lie from its forecast: mean square, or variance if levels do not count."""
    times = forecaster.times[: contexts[0].stop]
    forecast = forecaster.network.decode(forecaster.encode(*contexts), times).mean(axis=0)
    return np.array(
        [misfit(forecast[place], context.values, context.mask, levels=levels) for place, context in enumerate(contexts)]
    )


def misfit(forecast: NDArray, values: NDArray, mask: NDArray, *, levels: bool) -> float:
    """Of one run (points, 3), in model units."""
    found = 0.0
    for channel in (LOSS, METRIC):
        here = mask[:, channel]
        off = (forecast[:, channel] - values[:, channel])[here]
        found += float(np.mean(off**2) if levels else np.var(off))
    return found


def past_contexts(forecaster: Forecaster, stop: int) -> list[Context]:
    """Some reference runs, read up to a point."""
    references = forecaster.references
    return [references.context(run, 0, stop) for run in range(min(_LOOKED_AT, len(references)))]


def usual_misfit(forecaster: Forecaster, past: Sequence[Context]) -> float:
    """The median of past runs; infinite where there are none."""
    return max(float(np.median(misfits(forecaster, past, levels=True))), 1e-9) if past else np.inf


def expected_misfit(forecaster: Forecaster, context: Context) -> float:
    """What a job may be off for its size alone: its level lies as far from where runs begin as the law leaves open."""
    if forecaster.law is None or forecaster.level_doubt == 0:
        return 0.0
    found = 0.0
    for channel in (LOSS, METRIC):
        units = forecaster.recipe.normaliser.channels[channel]
        start = (forecaster.law.starts[channel] - units.mean) / units.std
        come = (context.values[:, channel] - start)[context.mask[:, channel]]
        found += forecaster.level_doubt**2 * float(np.mean(come**2)) if len(come) else 0.0
    return found
