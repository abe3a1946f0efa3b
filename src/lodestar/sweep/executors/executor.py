"""Where trials run: this machine's cores, or a Ray cluster. What an executor must do.

Comes in: a `Job` (which function) and trials. Goes out: events, in the caller's thread, as things happen. An executor
starts trials, watches them, retries those whose machine died, and hands each finished run over exactly once. It never
touches the run store, and knows nothing of displays.
"""

import abc
from collections.abc import Iterable, Iterator

from lodestar.sweep.events import Event
from lodestar.sweep.trial import Job, Trial


class AbstractExecutor(abc.ABC):
    """Runs trials and tells what happens."""

    here: bool = False
    """Whether trials run in this very process: then a trial may hold such a sweep of its own."""

    @property
    @abc.abstractmethod
    def slots(self) -> int:
        """How many trials can run at once, as far as is known now."""

    @abc.abstractmethod
    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        """Run all trials; yields events until each has ended as `Done` or `Failed`. Closing the iterator stops all."""

    def stop(self, trial: Trial, reason: str) -> bool:
        """Ask a running trial to end at its next report, as a run that was cut short; False if that cannot be done."""
        return False
