"""A task: its name, what it is, and how to build its problem at a scale.

Comes in: functions of a task's file. Goes out: what the bench lists and runs. Nothing is loaded until a problem is
built, so a list of tasks needs no data.
"""

import dataclasses
from collections.abc import Callable
from typing import TypedDict

from lodestar_bench.data.source import DataSource
from lodestar_bench.models.model import Model
from lodestar_bench.problem import AbstractProblem


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large a task is at one scale. `looks` are validation figures an epoch; `image` is a side in pixels."""

    width: int
    batch: int
    epochs: float
    looks: float
    image: int = 0
    train: int | None = None
    validation: int = 0
    test: int | None = None

    @property
    def lengths(self) -> "Lengths":
        """As a `Classification` takes them."""
        return {"batch_size": self.batch, "epochs": self.epochs, "looks_per_epoch": self.looks}


class Lengths(TypedDict):
    """How long a run is, and how often it is looked at."""

    batch_size: int
    epochs: float
    looks_per_epoch: float


@dataclasses.dataclass(frozen=True)
class Task:
    """A task of the bench. `build(scale)` needs the data; `model(scale)`, where given, does not."""

    name: str
    title: str
    build: Callable[[str], AbstractProblem]
    model: Callable[[str], Model] | None = None
    sources: tuple[DataSource, ...] = ()
    """What it needs to have on the disk; any part may come from `LODESTAR_DATA` or a download."""
    narrow: Callable[[str, int], Model] | None = None
    """The model at a scale, so many times narrower, where a task has such: for sweeps smaller than the job."""
    scales: tuple[str, ...] = ("paper", "cpu", "smoke")
    """The scales it can be built at."""

    def missing(self) -> tuple[DataSource, ...]:
        """The data that are not on this machine."""
        return tuple(source for source in self.sources if source.find() is None)
