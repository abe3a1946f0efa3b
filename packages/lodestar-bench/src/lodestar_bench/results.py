"""What a bench has found so far, run by run, as plain data: read from its stores, before any averaging.

Comes in: summaries of stored runs, and which trials failed. Goes out: a `Record` for each run, and `Results`: all of
one task at one scale. A run that diverged is a record like any other; it counts as no better than a model that has
learned nothing (`Results.floor`). Knows nothing of how the runs were made, and reads no curve.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping

from lodestar.runs import Direction, Facts, RunSummary, Scalar, Status

TUNE, SWEEP, LEARN, FINAL = "tune", "sweep", "learn", "final"
KEYS = {
    "validation": "best_metric",
    "test": "test_metric",
    "last_test": "test_metric_at_end",
    "first": "first_metric",
    "epochs": "epochs",
    "seconds": "seconds",
    "train_seconds": "seconds_train",
    "control_seconds": "seconds_controller",
    "compile_seconds": "seconds_compiling",
    "training_runs": "training_runs",
    "held": "held_25",
}
"""Where a run's facts hold the figures of its record."""


@dataclasses.dataclass(frozen=True)
class Record:
    """One run. `setting` is what it was made with: a value of the grid, or what was learned beforehand.

    `validation` is the best validation metric, `test` the test metric at that point, `first` the first validation
    metric. Seconds: all of the run, its updates, the method's own work. `held`: 1 if the forecast made at a quarter of
    the run held, else 0. Where a run has no such figure it is NaN.
    """

    name: str
    status: Status
    validation: float = math.nan
    test: float = math.nan
    last_test: float = math.nan
    first: float = math.nan
    epochs: float = math.nan
    seconds: float = math.nan
    train_seconds: float = math.nan
    control_seconds: float = math.nan
    compile_seconds: float = 0.0
    training_runs: float = math.nan
    held: float = math.nan

    @property
    def stage(self) -> str:
        """Which part of the protocol it belongs to."""
        return self.name.split("/")[0]

    @property
    def method(self) -> str:
        """The method under test."""
        return self.name.split("/")[1]

    @property
    def setting(self) -> str:
        """The value or the learning it was made with."""
        return self.name.split("/")[2]

    @property
    def seed(self) -> int:
        """Its seed."""
        return int(self.name.split("/")[3])

    @property
    def own_seconds(self) -> float:
        """All of the run but compiling, which every run after it of that kind is spared."""
        return self.seconds - self.compile_seconds

    @property
    def training_seconds(self) -> float:
        """Updates and the method's own work, without the evaluations."""
        return self.train_seconds + self.control_seconds

    @property
    def complete(self) -> bool:
        """Whether it came to its end with a model worth judging."""
        return self.status is Status.FINISHED and math.isfinite(self.validation) and math.isfinite(self.test)

    @classmethod
    def of(cls, summary: RunSummary) -> "Record":
        """From a stored run's facts, as `lodestar_bench.work` leaves them."""
        return cls.read(summary.name, summary.status, summary.facts)

    @classmethod
    def read(cls, name: str, status: Status, facts: Facts) -> "Record":
        """The same from its parts."""
        return cls(
            name, status, **{field: _number(facts.extra[key]) for field, key in KEYS.items() if key in facts.extra}
        )


@dataclasses.dataclass(frozen=True)
class Results:
    """All records of a task at a scale by name, and the sentence why each failed trial failed."""

    direction: Direction
    metric_name: str
    records: Mapping[str, Record]
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def ended(self, name: str) -> bool:
        """Whether nothing is left to do for a trial."""
        return name in self.records or name in self.failures

    def of(self, names: Iterable[str]) -> list[Record]:
        """The records of these trials, where there are any."""
        return [self.records[name] for name in names if name in self.records]

    @property
    def floor(self) -> float:
        """The worst first validation metric of any run: what a model that has hardly learned scores."""
        firsts = [record.first for record in self.records.values() if math.isfinite(record.first)]
        worst = min if self.direction is Direction.MAX else max
        return worst(firsts, default=math.nan)

    def validation(self, record: Record) -> float:
        """The figure tuning goes by; the floor for a run that did not come to its end."""
        return record.validation if record.complete else self.floor

    def test(self, record: Record) -> float:
        """The figure the table goes by; the floor for a run that did not come to its end."""
        return record.test if record.complete else self.floor

    def last_test(self, record: Record) -> float:
        """The same with the last weights, in place of those of the best validation."""
        return record.last_test if record.complete else self.floor

    def best(self, figures: Iterable[float]) -> float:
        """The best of some metrics."""
        return (max if self.direction is Direction.MAX else min)(figures)


def _number(value: Scalar) -> float:
    return float(value) if not isinstance(value, str) else math.nan
