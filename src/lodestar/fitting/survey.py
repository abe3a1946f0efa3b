"""A first look at the runs: which are usable, and what a recipe needs to know of them.

Comes in: a stream of runs, one at a time. Goes out: small facts of the usable ones, and a sentence for each run
excluded. No curve is kept, so that a store of any size passes through.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lodestar._errors import PrepareError
from lodestar.doctor.diverged import Ending, ending, stuck_beside, why_unusable
from lodestar.fitting.job import JobSurvey
from lodestar.forecaster.scale_law import QUANTITIES
from lodestar.runs.run import Direction, Run
from lodestar.runs.scale import scale_of

LEAST, MOST = 60, 600  # points on a grid by default


@dataclasses.dataclass(frozen=True)
class Usable:
    """What is remembered of a usable run."""

    ending: Ending
    intervals: int  # between two logged losses, in the whole run
    total_steps: int
    group: str
    scale: Mapping[str, float | None]  # width, parameters, batch size, length; None where it does not say


@dataclasses.dataclass(frozen=True)
class Survey:
    """Usable runs in order, runs excluded with the reason, and the one direction of the metric."""

    usable: tuple[Usable, ...]
    excluded: tuple[tuple[str, str], ...]
    direction: Direction
    job: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # what the usable runs say of it

    def default_points(self) -> int:
        """A point for each logged loss of a typical run, or for two, three... where that is more than 600; 60 at least.

        A logged loss is the mean since the one before. On a grid that is a little finer than the log it would land a
        point late, and a live job, which tells every update, would seem to be a point ahead of all past runs.
        """
        typical = int(np.median([run.intervals for run in self.usable]))
        return max(typical // math.ceil(max(typical, 1) / MOST), LEAST)


def survey(runs: Iterable[Run]) -> Survey:
    """Sort the runs into usable and excluded."""
    usable: list[Usable] = []
    excluded: list[tuple[str, str]] = []
    job = JobSurvey()
    for run in runs:
        reason = why_unusable(run)
        if reason is None:
            job.add(run)
            group = f"{run.facts.schedule or '?'} {run.peak_lr:.3g}"
            scale = {name: getattr(scale_of(run), name) for name in QUANTITIES}
            usable.append(Usable(ending(run), _intervals(run), run.total_steps, group, scale))
        else:
            excluded.append((run.name, reason))
    direction = _one_direction(usable)
    stuck = stuck_beside([run.ending for run in usable])
    excluded.extend(stuck.items())
    usable = [run for run in usable if run.ending.name not in stuck]
    if not usable or direction is None:
        raise PrepareError(_none_left(excluded))
    return Survey(tuple(usable), tuple(excluded), direction, job.to_dict())


def _intervals(run: Run) -> int:
    """How often the run's loss would be logged in all of its updates."""
    steps = run.loss.steps
    return len(steps) if len(steps) < 2 else int(run.total_steps // max(float(np.median(np.diff(steps))), 1.0))


def _one_direction(usable: list[Usable]) -> Direction | None:
    found = {run.ending.direction for run in usable}
    if len(found) > 1:
        raise PrepareError("these runs mix metrics to be maximised and minimised. Fix: fit on runs of one metric")
    return found.pop() if found else None


def _none_left(excluded: list[tuple[str, str]]) -> str:
    if not excluded:
        return "there is no run to prepare. Fix: import some with lodestar import, or check the store's path"
    shown = "; ".join(f"{name[:60]}: {why}" for name, why in excluded[:5])
    more = f"; and {len(excluded) - 5} more" if len(excluded) > 5 else ""
    return f"no usable run among {len(excluded)} ({shown}{more}). Fix: see what lodestar doctor says of these runs"
