"""An executor without processes: trials run here and now, one after another. Quick, and as real as any other."""

import time
from collections.abc import Iterable, Iterator

from lodestar.sweep import AbstractExecutor, Done, Event, Failed, Job, Started, Trial
from lodestar.sweep.events import TrialFailed
from lodestar.sweep.executors.work import carry_out


class HereExecutor(AbstractExecutor):
    """Runs trials in this process; after `most` of them it is interrupted."""

    def __init__(self, most: int | None = None):
        self.most = most
        self.made: list[str] = []

    @property
    def slots(self) -> int:
        """One."""
        return 1

    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        """One after another."""
        for trial in trials:
            if self.most is not None and len(self.made) >= self.most:
                raise KeyboardInterrupt
            began = time.monotonic()
            yield Started(trial, "here")
            self.made.append(trial.name)
            try:
                yield Done(trial, carry_out(job, trial), time.monotonic() - began)
            except TrialFailed as failure:
                yield Failed(trial, failure.reason, failure.detail, time.monotonic() - began)
