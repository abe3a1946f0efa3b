"""What tuning ends with: a forecaster fitted to all runs, the plan for the full job, and a run that it steers."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar._errors import FitError, MissingExtra, PrepareError
from lodestar.forecaster.at_scale import at_scale
from lodestar.planning import SchedulePlan, plan
from lodestar.runs import Run
from lodestar.sweep.steered import FORECASTER, FUNCTION, HOME, INITIAL, SCALE
from lodestar.sweep.trial import Job, Trial
from lodestar.tuning.choose import Choice
from lodestar.tuning.sizes import Sizes


def make_plan(
    runs: Sequence[Run],
    sizes: Sizes,
    file: Path,
    total_steps: int,
    seed: int,
    fit: Mapping[str, Any],
    choice: Choice | None = None,
) -> tuple[SchedulePlan | None, Path | None, str]:
    """The plan (the `choice`, where one was made), the forecaster's file, and a sentence where there is none."""
    try:
        from lodestar.fitting import fit as fit_forecaster

        forecaster = fit_forecaster(runs, seed=seed, **fit)
    except (FitError, PrepareError, MissingExtra, ModuleNotFoundError) as error:
        return None, None, f"no plan was made: {error}"
    forecaster.save(file)
    if forecaster.response is None:
        return None, file, "no plan was made: too few runs finished to learn how training answers to the rate"
    if sizes.values and not sizes.job(runs):
        return None, file, f"no plan was made: no run of the full size, {sizes.full:g}, has ended"
    chosen = None if choice is None else choice.schedule
    return plan(at_scale(forecaster, sizes.job(runs)).forecaster, total_steps, schedule=chosen), file, ""


def steered(job: Job, trial: Trial, file: Path, scale: Mapping[str, float], begun: str = "") -> tuple[Job, Trial]:
    """The same trial of the same job, steered by the forecaster in the file. `begun` are words for its first plan."""
    size = {name: value for name, value in scale.items() if name != "total_steps"}  # the trial has its own length
    settings = {FUNCTION: job.function or "", FORECASTER: str(file), SCALE: json.dumps(size)}
    if begun:
        settings[INITIAL] = begun
    return dataclasses.replace(job, function=HOME), dataclasses.replace(trial, settings={**trial.settings, **settings})
