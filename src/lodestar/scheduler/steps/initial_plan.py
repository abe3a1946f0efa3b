"""The initial plan: before the first window there is nothing of this run to encode, so past runs are (step 1).

"search" looks for the best schedule, where the forecaster knows schedules; where it does not, it is "whole". "auto" is
"search" for a job that the law over sizes has placed, where that was measured to be better, and else "whole".
"first-window" is the paper's: the best past run's first window. It cannot know the rest of that run's schedule, so
"whole" encodes whole runs: those whose forecast final metric is best, less the members' disagreement about it. A plain
schedule, "onecycle:3e-3", is followed until a decision replaces it. Comes in: a forecaster with reference runs, best
first. Goes out: a planned run of full length, averaged over the chosen runs and the members of an ensemble, and where
it comes from, in words. Knows nothing of the live run.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.runs.run import Direction
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.settings import INITIAL_PLANS, Settings
from lodestar.scheduler.steps.average import MEANS
from lodestar.scheduler.steps.judge_schedules import forecast_rates, planned_by_search
from lodestar.scheduler.steps.plain_plan import plain_plan


def initial_plan(forecaster: Forecaster, window: int, settings: Settings) -> tuple[PlannedRun, str]:
    """The run to begin with, and where it comes from, in words; `window` is in points."""
    if len(forecaster.references) == 0:
        raise ValueError(
            "the forecaster's reference runs must hold at least one run to begin with, got none. "
            "Fix: fit again on runs that finished"
        )
    if chosen_plan(forecaster, settings) == "search" and forecaster.response is not None:
        return planned_by_search(forecaster)
    planned, origin = _of_past_runs(forecaster, window, settings)
    if settings.initial_plan not in INITIAL_PLANS:
        planned, origin = plain_plan(forecaster, settings.initial_plan, planned, settings.initial_runs)
        planned = forecast_rates(forecaster, planned)
    return planned, origin


def _of_past_runs(forecaster: Forecaster, window: int, settings: Settings) -> tuple[PlannedRun, str]:
    """Decoded from the best past runs, whole or from their first window."""
    whole = settings.initial_plan != "first-window"
    latents = _encoded(forecaster, forecaster.points if whole else window)
    order = _by_forecast(forecaster, latents) if whole else np.arange(len(forecaster.references))
    chosen = order[: settings.initial_runs]
    curves = forecaster.decode(latents[:, chosen], np.arange(forecaster.points + 1) / forecaster.points)
    channels, mean = forecaster.recipe.normaliser, MEANS[settings.mean]
    parts = ((curves.lr, channels.lr), (curves.loss, channels.loss), (curves.metric, channels.metric))
    planned = PlannedRun(0, *(mean(part.reshape(-1, part.shape[-1]), channel) for part, channel in parts))
    return planned, f"the best past runs: {', '.join(forecaster.references.names[run] for run in chosen)}"


def chosen_plan(forecaster: Forecaster, settings: Settings) -> str:
    """The setting, "auto" made one of the others."""
    if settings.initial_plan != "auto":
        return settings.initial_plan
    return "search" if forecaster.placed and forecaster.response is not None else "whole"


def _encoded(forecaster: Forecaster, stop: int) -> NDArray[np.float64]:
    """The latents of every reference run, read up to a point."""
    references = forecaster.references
    return forecaster.encode(*(references.context(run, 0, stop) for run in range(len(references))))


def _by_forecast(forecaster: Forecaster, latents: NDArray[np.float64]) -> NDArray[np.int64]:
    """Best first: the final metric that the members forecast, less their disagreement."""
    last = forecaster.network.decode(latents, np.ones(1))[:, :, 0, METRIC]
    merit = last if forecaster.direction is Direction.MAX else -last
    return np.argsort(-(merit.mean(axis=0) - merit.std(axis=0)), kind="stable")
