"""The opening: before the first window there is nothing to encode, so the best past run's first window is (step 1).

Comes in: a forecaster with a library, best runs first. Goes out: a whole-run course decoded from that run's latent; an
ensemble's members are averaged. Knows nothing of the live run.
"""

import numpy as np

from lodestar.forecaster import Forecaster
from lodestar.scheduler.average import MEANS
from lodestar.scheduler.course import Course


def opening(forecaster: Forecaster, window: int, mean: str) -> Course:
    """The course of the library's best run, redrawn from its first `window` points."""
    if len(forecaster.library) == 0:
        raise ValueError(
            "the forecaster's library must hold at least one run to open with, got none. "
            "Fix: fit again on runs that finished"
        )
    latent = forecaster.encode(forecaster.library.piece(0, 0, window))
    times = np.arange(forecaster.points + 1) / forecaster.points
    drawn = forecaster.decode(latent, times)
    channels = forecaster.recipe.normaliser
    return Course(
        0,
        MEANS[mean](drawn.lr[:, 0], channels.lr),
        MEANS[mean](drawn.loss[:, 0], channels.loss),
        MEANS[mean](drawn.metric[:, 0], channels.metric),
    )
