"""Recorded trials of a sweep: values at steps, as a pruner would be shown them.

Comes in: a table of runs, or a run store. Goes out: `Recorded` trials. What was measured before the first
update is left out: no trial reports it, and all look alike there.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.runs import Direction, Run, RunStore, Series, Status
from lodestar.schedules import Schedule


@dataclasses.dataclass(frozen=True)
class Recorded:
    """One recorded trial: values at steps, NaN from where it diverged; `run` as a finished run, None if it did."""

    name: str
    steps: np.ndarray
    loss: np.ndarray
    metric: np.ndarray
    lr: np.ndarray
    direction: Direction

    @property
    def final(self) -> float:
        return float(self.metric[-1])

    def until(self, count: int, total: int, *, status: Status) -> Run:
        """The first `count` values as a run."""
        fine = np.isfinite(self.loss[:count])
        steps = self.steps[:count]
        return Run(
            self.name,
            Series(steps[fine], self.loss[:count][fine]) if fine.any() else Series(steps, self.loss[:count]),
            Series(steps, self.metric[:count]),
            Series(steps, self.lr[:count]),
            self.direction,
            status,
            total,
        )

    def schedule(self) -> Schedule:
        """The whole rate, known before the trial begins."""
        at = np.arange(1, int(self.steps[-1]) + 1)
        return Schedule("recorded", np.interp(at, self.steps, self.lr))


def read(path: Path) -> list[Recorded]:
    """The trials of a run store or of a table with a metric; values after a NaN stay NaN."""
    if path.is_dir():
        return [of_run(run) for run in RunStore.open(path).iter() if len(run.metric) and len(run.lr)]
    import pyarrow.parquet

    table = {name: column.to_numpy() for name, column in _columns(pyarrow.parquet.read_table(path))}
    metric, direction = ("valid_loss", Direction.MIN) if "valid_loss" in table else ("val_accuracy", Direction.MAX)
    found = []
    for name in dict.fromkeys(table["run"].tolist()):
        rows = np.flatnonzero(table["run"] == name)
        rows = rows[table["step"][rows] > 0]
        steps = table["step"][rows].astype(np.int64)
        loss, value, lr = (table[key][rows].astype(float) for key in ("train_loss", metric, "lr"))
        lr = np.where(np.isfinite(lr) & (lr >= 0), lr, 0.0)
        found.append(Recorded(str(name), steps, loss, value, lr, direction))
    return found


def seconds_of(path: Path) -> float | None:
    """What a trial of a table took, if that was recorded."""
    import pyarrow.parquet

    if path.is_dir() or "seconds" not in pyarrow.parquet.read_schema(path).names:
        return None
    return float(pyarrow.parquet.read_table(path, columns=["seconds"])["seconds"][0].as_py())


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    return ((name, table.column(name)) for name in table.column_names)


def of_run(run: Run) -> Recorded:
    """A run of our own, at the steps of its metric; NaN at the end where it diverged."""
    at = run.metric.steps
    loss, lr = (np.interp(at, series.steps, series.values) for series in (run.loss, run.lr))
    metric = run.metric.values.copy()
    if run.status is Status.DIVERGED:
        metric[-1] = np.nan
    return Recorded(run.name, at, loss, metric, lr, run.direction)
