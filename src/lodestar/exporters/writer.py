"""What every place we write runs to is to us, and which there are.

A writer is opened once and takes one run after another: `begin`, any number of `log` and `decision`, `end`. It raises
when its tracker fails: whoever calls it in a live job catches that (`follower.py`). To add one, write its file and its
entry in `WRITERS`.
"""

import abc
import importlib
from collections.abc import Mapping
from typing import ClassVar

from lodestar._credentials import stripped
from lodestar.runs import Scalar, Status

WRITERS = {
    "mlflow": ("mlflow:MlflowWriter", "mlflow:ADDRESS/EXPERIMENT"),
    "wandb": ("wandb:WandbWriter", "wandb:[ENTITY/]PROJECT"),
    "tensorboard": ("tensorboard:TensorboardWriter", "tensorboard:FOLDER"),
}
PREFIX = "lodestar/"
"""Before the names of the numbers a decision is told by."""


class AbstractWriter(abc.ABC):
    """A place that takes runs.

    Opening one checks how the address is written, and asks no server: a dead one must not hold up a job. `connect`
    asks; `begin` connects where nobody has.
    """

    kind: ClassVar[str]
    """The word before the colon in an address."""

    end_seconds: ClassVar[float] = 10.0
    """How long a job waits for `end`."""

    def connect(self) -> None:  # noqa: B027  folders need none
        """Ask whether the tracker is there, for some seconds at most; a `TrackerError` with the cure if it is not."""

    @abc.abstractmethod
    def begin(self, name: str, config: Mapping[str, Scalar], *, first_step: int = 0) -> None:
        """Start a run. What an earlier run of that name logged from `first_step` on is void, where a name is an id."""

    @abc.abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """What was measured at an optimizer step."""

    @abc.abstractmethod
    def decision(self, step: int, text: str, numbers: Mapping[str, float]) -> None:
        """What the scheduler decided after a step: a sentence, and numbers that are drawn beside the curves."""

    def flush(self) -> None:  # noqa: B027  most trackers' own clients do this
        """Send what waits."""

    @abc.abstractmethod
    def end(self, status: Status) -> None:
        """The run is over."""


def open_writer(address: str) -> AbstractWriter:
    """The writer at an address such as "tensorboard:FOLDER"; imports its tracker alone."""
    kind, colon, place = address.partition(":")
    if kind not in WRITERS or not colon or not place:
        shapes = ", ".join(shape for _, shape in WRITERS.values())
        raise ValueError(f"a place to log to must be one of {shapes}, got {stripped(address)!r}")
    module, name = WRITERS[kind][0].split(":")
    return getattr(importlib.import_module(f"lodestar.exporters.{module}"), name)(place)
