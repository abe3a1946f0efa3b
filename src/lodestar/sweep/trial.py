"""A trial: one run that a sweep is to make, as plain data; and what a training function is given.

Comes in: a name, a schedule, a seed, a length. Goes out: the arguments of the user's function. Steps count updates from
1: `schedule(1)` is the learning rate of the first update. Knows nothing of processes, stores or where the trial runs.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar.runs import Scalar


@dataclasses.dataclass(frozen=True, eq=False)
class Schedule:
    """The learning rate of every update, with a name. Call it with an update's number (from 1), or read `rates`."""

    name: str
    rates: NDArray[np.float64]

    def __init__(self, name: str, rates: ArrayLike):
        values = np.array(rates, dtype=np.float64, ndmin=1)
        values.flags.writeable = False
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "rates", values)
        if values.ndim != 1 or not len(values):
            raise ValueError(f"schedule {name!r}: rates must be a list of numbers, one an update, got {values.shape}")
        bad = np.flatnonzero(~np.isfinite(values) | (values < 0))
        if len(bad):
            raise ValueError(
                f"schedule {name!r}: a learning rate must be a finite number >= 0, got {values[bad[0]]} at update "
                f"{bad[0] + 1}. Fix: check the shape's parameters"
            )

    def __call__(self, step: int) -> float:
        """The learning rate of the `step`-th update. Before the first and after the last, the ends hold."""
        return float(self.rates[min(max(int(step), 1), len(self.rates)) - 1])

    def __len__(self) -> int:
        return len(self.rates)

    def __repr__(self) -> str:
        return f"Schedule({self.name!r}, {len(self)} updates, peak {self.peak:g})"

    @property
    def peak(self) -> float:
        """The highest rate."""
        return float(self.rates.max())


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
        told = hashlib.blake2s(plain.encode())
        if self.schedule is not None:
            mantissa, exponent = np.frexp(self.schedule.rates)
            told.update(np.ldexp(np.round(mantissa * 2**20), exponent - 20).astype("<f8").tobytes())
        return told.hexdigest()[:12]


class Report(Protocol):
    """What a training function calls as it goes. Loss and metric may come at different steps.

    The learning rate is taken from the schedule unless `lr` says otherwise. When the sweep has decided that the trial
    is lost (it diverged), this raises an exception that ends the function; let it pass.
    """

    def __call__(
        self, step: int, *, loss: float | None = None, metric: float | None = None, lr: float | None = None
    ) -> None: ...


class TrainingFunction(Protocol):
    """Your training job. It is called with keywords, and takes those of these five it has parameters for.

    It may return a mapping of names to plain values (a test score, a file's path): kept with the run's facts.
    """

    def __call__(
        self, *, schedule: Schedule, seed: int, total_steps: int, report: Report, settings: Mapping[str, Scalar]
    ) -> Mapping[str, Scalar] | None: ...
