"""What an adapter is given, and what it asks of a scheduler.

Comes in: a `Scheduler`, or a forecaster (object or file) with the length of the run and the scheduler's options. Goes
out: something that steers. `Steering` is all that an adapter may ask; `Scheduler` and `Ranked` both answer it. This
file knows no framework.
"""

import os
from typing import Any, Protocol, TypeGuard

from lodestar.forecaster import Forecaster
from lodestar.scheduler import Scheduler
from lodestar.scheduler.records.shadow import ShadowScore
from lodestar.scheduler.safety.caps import Caps
from lodestar.schedules.schedule import Schedule


class Steering(Protocol):
    """What an adapter asks of a scheduler. Steps are optimizer updates, the first one is 1."""

    @property
    def total_steps(self) -> int:
        """The planned length of the run."""
        ...

    def observe(self, step: int, *, loss: Any = None, metric: Any = None) -> None:
        """Take in a value measured at `step`."""
        ...

    def lr_at(self, step: int) -> float:
        """The rate to be used for update number `step`."""
        ...

    def next_decision(self) -> int:
        """The first step whose rate, when asked for, closes a window: what is observed later comes too late."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on, as plain data."""
        ...

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        """Go on from a saved state."""
        ...

    def extend(self, total_steps: int) -> None:
        """Change the length of the run."""
        ...

    def plan(self) -> Schedule:
        """The rates from here on, as they stand now."""
        ...

    def followed(self) -> Schedule:
        """The rates so far."""
        ...

    def score(self) -> ShadowScore:
        """How good the forecasts of the final metric were."""
        ...

    def warn(self, kind: str, text: str) -> bool:
        """Put a warning on record, once of each kind; whether it is the first."""
        ...

    @property
    def warnings(self) -> list[str]:
        """What went wrong so far."""
        ...

    @property
    def caps(self) -> Caps | None:
        """What the rate of every param group stays within; None in shadow mode."""
        ...

    @property
    def forecaster(self) -> Forecaster:
        """The forecaster it steers by."""
        ...


Source = Steering | Forecaster | str | os.PathLike[str]


def is_steering(source: object) -> TypeGuard[Steering]:
    """Whether `source` steers already, rather than being a forecaster to build a scheduler on."""
    return hasattr(source, "lr_at") and hasattr(source, "observe")


def scheduler_of(source: Source, total_steps: int | None, options: dict[str, Any], **job: Any) -> Steering:
    """The scheduler that was given, or one built on the forecaster that was given; `job`: what is known of the job."""
    known = {key: value for key, value in job.items() if value is not None}
    if not is_steering(source):
        return _scheduler_of(source, total_steps, {**options, "job": {**known, **(options.get("job") or {})}})
    steering = _scheduler_of(source, total_steps, options)
    if isinstance(steering, Scheduler):
        steering.compare(known)
    return steering


def notice(steering: Steering, finding: tuple[str, str] | None) -> None:
    """Let the scheduler say, once, what an adapter found."""
    scheduler = getattr(steering, "scheduler", steering)  # within `Ranked`
    if finding is not None and isinstance(scheduler, Scheduler):
        scheduler.notice(*finding)


def summary(steering: Steering | None, updates: int) -> str:
    """What became of a run, after so many updates."""
    scheduler = getattr(steering, "scheduler", steering)
    return scheduler.summary(updates) if isinstance(scheduler, Scheduler) else "not steered by a Scheduler"


def stopped(steering: Steering | None, updates: int) -> bool:
    """Whether a command has ended the run, of which so many updates are made."""
    ends_after = getattr(steering, "ends_after", None)
    return ends_after is not None and updates >= ends_after


def close(steering: Steering | None, updates: int) -> None:
    """The run is over, after so many updates: say how it went, on the one rank that knows. Never raises."""
    scheduler = getattr(steering, "scheduler", steering)
    if isinstance(scheduler, Scheduler) and getattr(steering, "rank", 0) == 0:
        scheduler.close(updates)


def _scheduler_of(source: Source, total_steps: int | None, options: dict[str, Any]) -> Steering:
    if is_steering(source):
        if options or total_steps not in (None, source.total_steps):
            given = sorted(options) + ([] if total_steps in (None, source.total_steps) else ["total_steps"])
            raise ValueError(
                f"a ready scheduler was given together with {', '.join(given)}, which would have no effect. "
                "Fix: give these to the Scheduler, or pass the forecaster instead of a scheduler"
            )
        return source
    if total_steps is None:
        raise ValueError(
            "total_steps must be given with a forecaster: the number of optimizer updates of the whole run "
            "(epochs x batches in an epoch / accumulation), got None. Fix: pass total_steps=..."
        )
    if not isinstance(source, Forecaster | str | os.PathLike):
        raise ValueError(
            f"expected a Scheduler, a Forecaster or the path of a forecaster file, got {type(source).__name__}. "
            "Fix: make a file with lodestar fit and pass its path"
        )
    return Scheduler(source, total_steps, **options)


def metric_name(metric: str | None, monitor: str | None) -> str:
    """The name under which the job reports its metric; `monitor` is what release one called it."""
    name = monitor if metric is None else metric
    if not isinstance(name, str):
        raise ValueError(
            f"metric must be the name of the validation metric the forecaster was fitted on, got {name!r}. "
            "Fix: metric='val_accuracy', as your job logs it"
        )
    return name
