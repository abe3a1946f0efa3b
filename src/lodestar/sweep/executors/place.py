"""Where trials run: this machine's cores, or a Ray cluster. What a place must do, and what it tells the sweep.

Comes in: a `Job` (which function) and trials. Goes out: events, in the caller's thread, as things happen. A place
starts trials, watches them, retries those whose machine died, and hands each finished run over exactly once. It never
touches the run store, and knows nothing of displays.
"""

import abc
import dataclasses
from collections.abc import Iterable, Iterator

from lodestar.runs import Run
from lodestar.sweep.trial import Trial


@dataclasses.dataclass(frozen=True)
class Job:
    """The training job: `function` is "module:name" (importable where the trial runs) or `command` a shell line.

    `cut_diverged` ends a trial early once its loss is lost; it is kept as diverged either way.
    """

    function: str | None = None
    command: str | None = None
    metric_name: str = "metric"
    direction: str = "max"
    task: str | None = None
    cut_diverged: bool = True


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


class AbstractPlace(abc.ABC):
    """Runs trials and tells what happens."""

    @property
    @abc.abstractmethod
    def slots(self) -> int:
        """How many trials can run at once, as far as is known now."""

    @abc.abstractmethod
    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        """Run all trials; yields events until each has ended as `Done` or `Failed`. Closing the iterator stops all."""
