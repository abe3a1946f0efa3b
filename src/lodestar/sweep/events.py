"""What becomes of a trial: events, which an executor tells the sweep; exceptions, in the process that runs it."""

import dataclasses
import enum

from lodestar.runs import Run
from lodestar.sweep.trial import Trial

MOST_DETAIL = 4000


class FailureKind(enum.StrEnum):
    """How a trial failed."""

    RAISED = "raised"
    EXITED = "exited"  # sys.exit, or a command's exit code
    DIED = "died"  # its process: a crash, os._exit, out of memory
    TIMED_OUT = "timed out"
    NO_LOSS = "no loss"
    BAD_MESSAGE = "bad message"
    NODE_LOST = "node lost"
    OTHER = "other"


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
    kind: FailureKind = FailureKind.OTHER


Event = Started | Reported | Done | Failed


class TrialCut(BaseException):
    """Raised by `report` when the trial is lost. No `Exception`, so that a careless `except` lets it pass."""


class TrialFailed(Exception):
    """A trial ended without a run: `reason` is a sentence, `detail` a traceback or the end of an output."""

    def __init__(self, reason: str, detail: str = "", kind: FailureKind = FailureKind.OTHER):
        super().__init__(reason)
        self.reason = reason
        self.detail = detail[-MOST_DETAIL:]
        self.kind = kind
