"""A place for trials that is this very process: quick, and what goes wrong can be seen."""

import time
from collections.abc import Iterable, Iterator

from lodestar.sweep import AbstractExecutor, Done, Event, Failed, Job, Started, Trial
from lodestar.sweep.events import TrialFailed
from lodestar.sweep.executors.work import carry_out


class Here(AbstractExecutor):
    """One trial after another; `until` trials, then as if it were killed."""

    def __init__(self, until: int | None = None):
        self.names: list[str] = []
        self._until = until

    @property
    def slots(self) -> int:
        return 1

    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        for trial in trials:
            if self._until is not None and len(self.names) >= self._until:
                raise KeyboardInterrupt
            self.names.append(trial.name)
            yield Started(trial, "here")
            began = time.perf_counter()
            try:
                run = carry_out(job, trial)
            except TrialFailed as failure:
                yield Failed(trial, failure.reason, failure.detail, time.perf_counter() - began)
            else:
                yield Done(trial, run, time.perf_counter() - began)
