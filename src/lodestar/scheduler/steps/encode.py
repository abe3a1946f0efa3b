"""Step 1, encode: the last points of the live run to its latent z0, beside reference runs read at the same place.

Comes in: a forecaster and the live run on the grid. Goes out: z0 of the live run (members, latent) and of reference
runs (members, runs, latent). The encoder sees a context with its absolute times, and z0 is the latent of the *whole*
run: t = 0 is always the run's start. Knows nothing of noise or decisions.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Context, Forecaster
from lodestar.forecaster.preprocessing.recipe import Points


def live_context(forecaster: Forecaster, points: Points, start: int, stop: int) -> Context:
    """Points [start, stop) of the live run, in model units."""
    values = forecaster.recipe.normalised(points)
    return Context(values[start:stop], points.mask[start:stop], start)


def encode(forecaster: Forecaster, live: Context, runs: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """z0 of the live context (members, latent), and of the `runs` best reference runs cut to the same points."""
    references = forecaster.references
    others = [references.context(run, live.start, live.stop) for run in range(min(runs, len(references)))]
    z0 = forecaster.encode(live, *others)
    return z0[:, 0], z0[:, 1:]
