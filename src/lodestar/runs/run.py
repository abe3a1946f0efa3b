"""A training run as data: loss, metric and learning rate, each on its own optimizer steps.

Comes in: arrays. Goes out: an immutable, validated `Run`. The paper's x(t) = (loss, metric, lr), before any resampling.
NaN and inf are kept in loss and metric (a diverged run is a fact worth keeping); nothing is ever repaired here. This
file knows neither disks nor trackers, and needs NumPy alone.
"""

import dataclasses
import enum
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar._credentials import cleaned
from lodestar._errors import RunError
from lodestar._plain import storable
from lodestar.runs.fact_names import named
from lodestar.runs.note import Note

Scalar = str | int | float | bool
OUR_METRIC, OUR_DIRECTION, OUR_TASK = "lodestar_metric", "lodestar_direction", "lodestar_task"
"""Settings that our exporters leave with a run, so that an import need not guess."""
OUR_MODE, STEERED = "lodestar_mode", "lodestar"
"""Where a scheduler's mode stands among those settings, and what the schedule of a run it steered is called."""


class Direction(enum.StrEnum):
    """Whether a larger or a smaller metric is better. Explicit, never assumed."""

    MAX = "max"
    MIN = "min"

    def better(self, one: float, other: float) -> bool:
        """Whether `one` is strictly better than `other`."""
        return one > other if self is Direction.MAX else one < other


class Status(enum.StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    CUT_SHORT = "cut short"


@dataclasses.dataclass(frozen=True, eq=False)
class Series:
    """Values on strictly increasing optimizer steps. Arrays are read-only."""

    steps: NDArray[np.int64]
    values: NDArray[np.float64]

    def __init__(self, steps: ArrayLike, values: ArrayLike):
        object.__setattr__(self, "steps", _frozen(_whole(steps)))
        object.__setattr__(self, "values", _frozen(np.array(values, dtype=np.float64, ndmin=1)))
        if self.steps.ndim != 1 or self.steps.shape != self.values.shape:
            raise RunError(
                f"steps and values must be two lists of one length, got shapes {self.steps.shape} and "
                f"{self.values.shape}. Fix: pass one value for each step"
            )

    @classmethod
    def empty(cls) -> "Series":
        """A series with nothing in it: the quantity was not logged."""
        return cls([], [])

    def __len__(self) -> int:
        return len(self.steps)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Series):
            return NotImplemented
        return np.array_equal(self.steps, other.steps) and np.array_equal(self.values, other.values, equal_nan=True)

    def __hash__(self) -> int:
        return hash((self.steps.tobytes(), self.values.tobytes()))

    def until(self, step: float) -> "Series":
        """The part at or before `step`."""
        end = int(np.searchsorted(self.steps, step, side="right"))
        return Series(self.steps[:end], self.values[:end])

    def held_until(self, last_step: int) -> int:
        """The last step at which the last value may be taken for known, where it changes as a learning rate does.

        As long as it once went unlogged, or a hundredth of the run, for a last validation after the last update.
        """
        gap = int(np.diff(self.steps).max()) if len(self) > 1 else 0
        return min(last_step, int(self.steps[-1]) + max(gap, last_step // 100))


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known about a run besides its curves. All optional; `extra` holds whatever else a tracker knew.

    Credentials in a text (`storage = postgresql://user:password@host/db`) are taken out here, once for all ways in.
    """

    task: str | None = None
    schedule: str | None = None
    peak_lr: float | None = None
    seed: int | None = None
    source: str | None = None
    extra: Mapping[str, Scalar] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        for name in ("task", "schedule", "source"):
            object.__setattr__(self, name, _public(getattr(self, name)))
        if any(_public(value) is not value for value in self.extra.values()):
            object.__setattr__(self, "extra", {key: _public(value) for key, value in self.extra.items()})

    @property
    def workload(self) -> str:
        """Task and model size: runs that differ in these are not to be ranked against each other."""
        found = (item for meaning in ("parameters", "width", "size") for item in named(self.extra, meaning).items())
        return " ".join([self.task or "", *(f"{name}={value}" for name, value in [*found][:1])]).strip()


@dataclasses.dataclass(frozen=True)
class Run:
    """One training run.

    `total_steps` is the planned length (default: the last logged step); a run that was cut short has a last step below
    it. `notes` say what an import did to the data ("steps 400-450 logged twice, last kept"): repairs are never silent.
    A plain text is taken as a `Note` of the kind OTHER. An empty `lr` or `metric` is allowed here (the store keeps what
    there is) and refused by `prepare`.
    """

    name: str
    loss: Series
    metric: Series
    lr: Series
    direction: Direction
    status: Status = Status.FINISHED
    total_steps: int = 0
    metric_name: str = "metric"
    facts: Facts = dataclasses.field(default_factory=Facts)
    notes: tuple[Note, ...] = ()

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.strip():
            raise RunError(f"a run's name must be a non-empty text, got {self.name!r}. Fix: give each run a name")
        object.__setattr__(self, "direction", Direction(self.direction))
        object.__setattr__(self, "status", Status(self.status))
        object.__setattr__(self, "notes", tuple(map(Note, self.notes)))
        for column in ("loss", "metric", "lr"):
            _check_steps(self.name, column, getattr(self, column))
        _check_lr(self.name, self.lr)
        if len(self.loss) == 0:
            raise RunError(f"run {self.name!r} has no training loss. Fix: log the loss, or leave the run out")
        if self.total_steps <= 0:
            object.__setattr__(self, "total_steps", self.last_step)
        if self.total_steps < self.last_step:
            raise RunError(
                f"run {self.name!r}: total_steps is {self.total_steps}, but steps go up to {self.last_step}. "
                "Fix: pass the planned length of the run, or leave total_steps out"
            )

    @property
    def last_step(self) -> int:
        """The last step with any value."""
        return max((int(s.steps[-1]) for s in (self.loss, self.metric, self.lr) if len(s)), default=0)

    @property
    def final_metric(self) -> float:
        """The last logged metric, NaN if none was."""
        return float(self.metric.values[-1]) if len(self.metric) else math.nan

    @property
    def peak_lr(self) -> float:
        """The highest learning rate used: as logged, else as stated in the facts, else NaN."""
        if len(self.lr):
            return float(self.lr.values.max())
        return math.nan if self.facts.peak_lr is None else float(self.facts.peak_lr)

    def replace(self, **changes: object) -> "Run":
        """A copy with some fields changed, validated again."""
        return dataclasses.replace(self, **changes)  # pyright: ignore[reportArgumentType]


def _public(value: Any) -> Any:
    """The value, without credentials if it is a text that has some, and such that a file can hold it."""
    public = storable(cleaned(value)) if isinstance(value, str) else value
    return value if public == value else public


def _whole(steps: ArrayLike) -> NDArray[np.int64]:
    raw = np.array(steps, ndmin=1)
    if raw.size == 0:
        return np.zeros(0, dtype=np.int64)
    if raw.dtype.kind not in "iuf":
        raise RunError(f"steps must be whole numbers, got {raw.flat[0]!s}. Fix: log optimizer steps")
    odd = raw[(raw != np.round(raw)) | (np.abs(raw) > 2.0**62)] if raw.dtype.kind == "f" else raw[:0]
    if odd.size:
        raise RunError(f"steps must be whole numbers, got {odd.flat[0]!s}. Fix: log optimizer steps")
    return raw.astype(np.int64)


def _frozen(array: NDArray) -> NDArray:
    array.flags.writeable = False
    return array


def _check_steps(name: str, column: str, series: Series) -> None:
    if not isinstance(series, Series):
        raise RunError(
            f"run {name!r}: {column} must be a Series, got {type(series).__name__}. Fix: Series(steps, values)"
        )
    if len(series) and series.steps[0] < 0:
        raise RunError(f"run {name!r}, {column}: first step is {series.steps[0]}, steps must not be negative")
    bad = np.flatnonzero(np.diff(series.steps) <= 0)
    if len(bad):
        before, after = series.steps[bad[0]], series.steps[bad[0] + 1]
        raise RunError(
            f"run {name!r}, {column}: steps must increase, but step {after} follows step {before}. "
            "Fix: merge resumed segments (lodestar import does, last wins) or drop the duplicates"
        )


def _check_lr(name: str, lr: Series) -> None:
    bad = np.flatnonzero(~np.isfinite(lr.values) | (lr.values < 0))
    if len(bad):
        raise RunError(
            f"run {name!r}, lr: a learning rate must be a finite number >= 0, got {lr.values[bad[0]]} at step "
            f"{lr.steps[bad[0]]}. Fix: check which column is the learning rate, or leave the run out"
        )
