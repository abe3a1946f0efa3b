"""A job and its trials: what is trained, one run of it, and what a training function is given.

Steps count updates from 1: `schedule(1)` is the learning rate of the first update.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from lodestar.runs import Scalar
from lodestar.schedules import Schedule


@dataclasses.dataclass(frozen=True)
class Job:
    """The training job: `function` is "module:name" (importable where the trial runs) or `command` a shell line.

    `cut_diverged` ends a trial early once its loss is lost; it is kept as diverged either way. `scales` are settings
    that the function takes as keywords of their own: "size", "batch_size".
    """

    function: str | None = None
    command: str | None = None
    metric_name: str = "metric"
    direction: str = "max"
    task: str | None = None
    cut_diverged: bool = True
    scales: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as it was before there were scales where there are none."""
        plain = dataclasses.asdict(self)
        return plain if self.scales else {name: value for name, value in plain.items() if name != "scales"}


@dataclasses.dataclass(frozen=True)
class Trial:
    """One run to be made. `settings` is whatever else the job should know; it is kept with the run's facts.

    `schedule` is None for a job that sets its own learning rate (it then reports it).
    """

    name: str
    seed: int
    total_steps: int
    schedule: Schedule | None = None
    settings: Mapping[str, Scalar] = dataclasses.field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Twelve letters that tell this trial from any other; kept with the run, so that a resumed sweep knows it.

        Rates count to six digits: another machine's cosine may differ in the last.
        """
        plain = json.dumps([self.name, self.seed, self.total_steps, dict(self.settings)], sort_keys=True, default=str)
        hashed = hashlib.blake2s(plain.encode())
        if self.schedule is not None:
            mantissa, exponent = np.frexp(self.schedule.rates)
            hashed.update(np.ldexp(np.round(mantissa * 2**20), exponent - 20).astype("<f8").tobytes())
        return hashed.hexdigest()[:12]


class ReportFunction(Protocol):
    """What a training function calls as it goes. Loss and metric may come at different steps.

    The learning rate is taken from the schedule unless `lr` says otherwise. When the sweep has decided that the trial
    is lost (it diverged), this raises an exception that ends the function; let it pass.
    """

    def __call__(
        self, step: int, *, loss: float | None = None, metric: float | None = None, lr: float | None = None
    ) -> None: ...


class TrainingFunction(Protocol):
    """Your training job. It is called with keywords, and takes those of these five it has parameters for.

    A sweep over sizes or batches gives it `size` or `batch_size` as well, which it must take.

    It may return a mapping of names to plain values (a test score, a file's path): kept with the run's facts.
    """

    def __call__(
        self, *, schedule: Schedule, seed: int, total_steps: int, report: ReportFunction, settings: Mapping[str, Scalar]
    ) -> Mapping[str, Scalar] | None: ...
