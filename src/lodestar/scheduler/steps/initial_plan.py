"""The opening: before the first window there is nothing of this run to encode, so past runs are (step 1).

"first-window" is the paper's: the best past run's first window. It cannot know the rest of that run's schedule, so
"whole" encodes whole runs: those whose forecast final metric is best, less the members' disagreement about it. Comes
in: a forecaster with reference runs, best first. Goes out: a whole-run course, averaged over the chosen runs and the
members of an ensemble, and their names. Knows nothing of the live run.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.runs.run import Direction
from lodestar.scheduler.course import Course
from lodestar.scheduler.settings import Settings
from lodestar.scheduler.steps.average import MEANS


def opening(forecaster: Forecaster, window: int, settings: Settings) -> tuple[Course, tuple[str, ...]]:
    """The course to begin with; `window` is in points."""
    if len(forecaster.references) == 0:
        raise ValueError(
            "the forecaster's reference runs must hold at least one run to open with, got none. "
            "Fix: fit again on runs that finished"
        )
    stop = forecaster.points if settings.opening == "whole" else window
    latents = _encoded(forecaster, stop)
    order = _by_reading(forecaster, latents) if settings.opening == "whole" else np.arange(len(forecaster.references))
    chosen = order[: settings.opening_runs]
    drawn = forecaster.decode(latents[:, chosen], np.arange(forecaster.points + 1) / forecaster.points)
    channels, mean = forecaster.recipe.normaliser, MEANS[settings.mean]
    curves = ((drawn.lr, channels.lr), (drawn.loss, channels.loss), (drawn.metric, channels.metric))
    course = Course(0, *(mean(part.reshape(-1, part.shape[-1]), channel) for part, channel in curves))
    return course, tuple(forecaster.references.names[run] for run in chosen)


def _encoded(forecaster: Forecaster, stop: int) -> NDArray[np.float64]:
    """The latents of every reference run, read up to a point."""
    references = forecaster.references
    return forecaster.encode(*(references.context(run, 0, stop) for run in range(len(references))))


def _by_reading(forecaster: Forecaster, latents: NDArray[np.float64]) -> NDArray[np.int64]:
    """Best first: the final metric that the members forecast, less their disagreement."""
    last = forecaster.network.decode(latents, np.ones(1))[:, :, 0, METRIC]
    merit = last if forecaster.direction is Direction.MAX else -last
    return np.argsort(-(merit.mean(axis=0) - merit.std(axis=0)), kind="stable")
