"""A training function around the user's: its rates come from a scheduler that steers, with the forecaster just fitted.

Comes in: what a sweep gives any training function; the forecaster's file and the user's function are among the
settings. Goes out: the user's facts, and what the steering did. The function must ask `schedule(step)` as it goes: one
that asks for all rates first gets the plan, and that is said.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Scalar
from lodestar.scheduler import Scheduler
from lodestar.schedules import Schedule
from lodestar.sweep import function as functions

HOME = f"{__name__}:train"
"""The name under which a sweep's worker finds this."""
FUNCTION, FORECASTER, SCALE = "steered_function", "steered_forecaster", "steered_job"
"""Settings: the user's function, the forecaster's file, and the job's size and the like as JSON."""
INITIAL = "steered_from"
"""A setting: words for the schedule to begin with; without it the forecaster's own plan is."""
STEERING = "steering"
"""The fact that says what became of it."""


class SteeredSchedule:
    """Looks like a `Schedule`: the plan, but each rate is decided when it is asked for.

    `rates` are the plan's. Whoever asks beyond the first decision before anything was reported gets the plan.
    """

    def __init__(self, plan: Schedule, scheduler: Scheduler):
        self._plan, self._scheduler, self._last, self._heard = plan, scheduler, 0, False
        self.ahead = False

    def __call__(self, step: int) -> float:
        """The learning rate of one update."""
        return self.lr_at(int(step))

    def lr_at(self, step: int) -> float:
        """The learning rate of one update."""
        self.ahead = self.ahead or (not self._heard and step >= self._scheduler.next_decision())
        if self.ahead:
            return self._plan(step)
        self._last = max(self._last, step)
        return self._scheduler.lr_at(step)

    def used(self, step: int) -> float:
        """The rate of a step that was asked for; the plan's for any other."""
        return self._scheduler.lr_at(step) if step <= self._last and not self.ahead else self._plan(step)

    def hear(self, step: int, loss: Any, metric: Any) -> None:
        """What the function reports."""
        self._heard = True
        self._scheduler.observe(step, loss=loss, metric=metric)

    @property
    def rates(self) -> NDArray[np.float64]:
        """The plan's."""
        return self._plan.rates

    def __len__(self) -> int:
        return len(self._plan)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)

    def told(self) -> str:
        """What became of the steering, in a sentence."""
        if self.ahead or not self._last:
            return "followed the plan: the function reads its rates before it reports, so nothing could be steered"
        return f"was steered: {self._scheduler.summary()}"


def train(
    *,
    schedule: Schedule,
    seed: int,
    total_steps: int,
    report: Callable[..., None],
    settings: Mapping[str, Scalar],
    **scales: Any,
) -> Mapping[str, Scalar]:
    """The user's function, steered; on a node that lacks the forecaster's file, along the plan."""
    function = functions.find(str(settings[FUNCTION]))
    theirs = {name: value for name, value in settings.items() if name not in (FUNCTION, FORECASTER, SCALE, INITIAL)}
    given: dict[str, Any] = {"seed": seed, "total_steps": total_steps, "settings": theirs, **scales}
    takes = functions.taken(function, tuple(scales))
    file = Path(str(settings[FORECASTER]))
    if not file.is_file():
        given |= {"schedule": schedule, "report": report}
        told = "followed the plan: the forecaster's file is not on the machine it ran on"
        return {**(function(**{name: given[name] for name in takes}) or {}), STEERING: told}
    begun: dict[str, Any] = {"initial_plan": str(settings[INITIAL])} if INITIAL in settings else {}
    scheduler = Scheduler(file, total_steps, seed=seed, job=json.loads(str(settings[SCALE])), **begun)
    steered = SteeredSchedule(schedule, scheduler)

    def heard(step: int, *, loss: Any = None, metric: Any = None, lr: Any = None) -> None:
        steered.hear(step, loss, metric)
        report(step, loss=loss, metric=metric, lr=steered.used(int(step)) if lr is None else lr)

    given |= {"schedule": steered, "report": heard}
    returned = function(**{name: given[name] for name in takes})
    return {**(returned if isinstance(returned, Mapping) else {}), STEERING: steered.told()}
