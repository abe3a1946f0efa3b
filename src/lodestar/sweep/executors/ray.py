"""The Ray executor: trials on a cluster, or on this machine through Ray.

Each trial is a Ray task, placed by its need of CPUs and GPUs; nodes that join later are used. Runs come back as plain
data, each exactly once, and the sweep stores them: nodes need no access to the store.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lodestar._errors import SweepError
from lodestar.sweep.events import Event
from lodestar.sweep.executors._ray_cluster import RayCluster
from lodestar.sweep.executors._ray_flights import Flights, Need
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.time_limit import seconds_of
from lodestar.sweep.trial import Job, Trial


class RayExecutor(AbstractExecutor):
    """Trials on Ray. `address`: "auto" or "ray://host:10001"; None finds a cluster on this machine or starts one.

    `ship` sends the current folder, with your training code in it, to the nodes (None: unless all is on this machine);
    `runtime_env` is Ray's, for packages the nodes lack. `max_retries` is how often a trial that lost its node or its
    process is sent again; an exception in your function is never retried. `timeout` ends a trial that takes longer, as
    in `LocalExecutor`; it counts from where the trial begins on its node.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        cpus_per_trial: float = 1,
        gpus_per_trial: float = 0,
        max_retries: int = 3,
        ship: bool | None = None,
        runtime_env: dict[str, Any] | None = None,
        timeout: float | str | None = None,
    ):
        for name, value in (("cpus_per_trial", cpus_per_trial), ("gpus_per_trial", gpus_per_trial)):
            if value < 0:
                raise ValueError(f"{name} must be a number >= 0, got {value}. Fix: leave it out for the default")
        if not cpus_per_trial and not gpus_per_trial:
            raise ValueError("a trial must need something, got 0 CPUs and 0 GPUs. Fix: cpus_per_trial=1")
        if max_retries < 0:
            raise ValueError(f"max_retries must be at least 0, got {max_retries}. Fix: leave it out for the default")
        self._address, self._ship, self._runtime_env = address, ship, runtime_env
        self._need = Need(cpus_per_trial, gpus_per_trial, max_retries, None if timeout is None else seconds_of(timeout))
        self._cluster: RayCluster | None = None
        self._flights: Flights | None = None

    @property
    def slots(self) -> int:
        """How many trials fit on the nodes that are up now; connects if need be."""
        return self._connected().slots(self._need.cpus, self._need.gpus)

    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        cluster = self._connected()
        try:
            if cluster.local and not self.slots:
                raise SweepError(f"this machine cannot run a trial that needs {self._need}. Fix: --cpus, --gpus")
            flights = self._flights = Flights(cluster, _as_found_there(job), iter(trials), self._need)
            try:
                yield from flights.fly()
            finally:
                self._flights = None
                flights.stop()
        finally:
            self.close()

    def stop(self, trial: Trial, reason: str) -> bool:
        return self._flights is not None and self._flights.stop_trial(trial, reason)

    def close(self) -> None:
        """Leave the cluster, if this executor connected to it. `run` does so at its end."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _connected(self) -> RayCluster:
        if self._cluster is None:
            self._cluster = RayCluster.connect(self._address, ship=self._ship, runtime_env=self._runtime_env)
        return self._cluster


RayPlace = RayExecutor  # its name in release one


def _as_found_there(job: Job) -> Job:
    """The job with a file below the current folder named from there: on the nodes that folder lies elsewhere."""
    home, _, name = (job.function or "").rpartition(":")
    if not home.endswith(".py") or not Path(home).is_absolute() or not Path(home).is_relative_to(Path.cwd()):
        return job
    return dataclasses.replace(job, function=f"{Path(home).relative_to(Path.cwd())}:{name}")
