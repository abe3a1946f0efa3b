"""What an executor tells the sweep of a trial: it started, it reported, it is done or it failed. Plain data."""

import dataclasses

from lodestar.runs import Run
from lodestar.sweep.trial import Trial


@dataclasses.dataclass(frozen=True)
class Started:
    """A trial began; `where` names the core or the node."""

    trial: Trial
    where: str


@dataclasses.dataclass(frozen=True)
class Reported:
    """A trial is on its way (sent now and then, not for every report)."""

    trial: Trial
    step: int
    loss: float | None
    metric: float | None


@dataclasses.dataclass(frozen=True)
class Done:
    """A trial ended with a run to keep: finished, diverged, or cut short by the job itself."""

    trial: Trial
    run: Run
    seconds: float


@dataclasses.dataclass(frozen=True)
class Failed:
    """A trial ended without a run: the sentence says why, `detail` holds the end of its output or traceback."""

    trial: Trial
    reason: str
    detail: str
    seconds: float


Event = Started | Reported | Done | Failed
