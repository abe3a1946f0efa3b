"""What every experiment tracker is to us: a list of runs, and the curves of each.

Comes in: an address. Goes out: `Listed` runs (cheap) and what they `Logged` (as it was: nothing merged, nothing
repaired). Which quantity is the loss, what a step is and what is left out is decided elsewhere, once for all trackers.
A new tracker is one file with one class that passes `lodestar.testing.TrackerContract`, and one entry in `kinds.py`.
"""

import abc
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Scalar


@dataclasses.dataclass(frozen=True)
class Listed:
    """A run as a listing shows it.

    `key` is the tracker's own id, never used twice. `version` changes when the run's data may have changed (end time,
    file size and date, number of rows): a run already imported at this version is not fetched again. `quantities` are
    the names of what it logged over time, `config` what is stated once. `state` is the tracker's own word for how the
    run stands ("FINISHED", "running", "crashed"). `group` is what the tracker files it under (an experiment, a
    project): the task, unless told otherwise. `trouble` is a sentence for a run that cannot be read at all (a damaged
    file, a deleted run): it is then left out for that reason, and never fetched. `points` is about how many values a
    quantity holds, 0 if not known: it only keeps many long runs from being in memory at once.
    """

    key: str
    name: str
    version: str
    quantities: tuple[str, ...] = ()
    config: Mapping[str, Scalar] = dataclasses.field(default_factory=dict)
    state: str = ""
    group: str | None = None
    trouble: str = ""
    points: int = 0


@dataclasses.dataclass(frozen=True)
class Logged:
    """One quantity as it was logged, in the order of logging: `steps` is the tracker's own clock.

    `notes` are sentences on what was odd ("the file ends in the middle of a record"); they end up on the run.
    """

    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    notes: tuple[str, ...] = ()


class AbstractTracker(abc.ABC):
    """A place that keeps runs. Opening it checks the address: a wrong one is a `TrackerError` with the cure."""

    kind: ClassVar[str]
    """The word after `lodestar import`."""
    clock: str = "step"
    """What the tracker's own step counts: "step" (what was passed when logging), "epoch", or its own name for it."""
    clock_counts_calls: ClassVar[bool] = False
    """Whether the clock merely counts calls: then a logged `global_step` is the better step, if there is one."""
    keys_are_global: ClassVar[bool] = False
    """Whether a key is unique in the world (a UUID), or only at this address (a path, a number)."""
    roles: Mapping[str, str] = {}
    """What the tracker itself knows of the mapping, such as {"metric": "value", "direction": "max"}."""
    threads: ClassVar[int] = 4
    """How many runs may well be fetched at once; 1 for what is slower in threads."""

    @property
    @abc.abstractmethod
    def address(self) -> str:
        """Where the runs are, for people: a URL, a file, a folder (the whole path, the same from anywhere)."""

    @abc.abstractmethod
    def list(self) -> Iterator[Listed]:
        """Every run there, one after another; costs little per run."""

    @abc.abstractmethod
    def fetch(self, run: Listed, quantities: Sequence[str]) -> Mapping[str, Logged]:
        """The whole history of the wanted quantities, none sampled; those the run never logged are left out.

        May be called from several threads at once. A run whose data cannot be read is a `RunError`: it is left out with
        that reason, and the others go on. A place that cannot be reached any more is a `TrackerError`, which ends the
        import; what came before is stored.
        """


class AbstractBulkTracker(AbstractTracker):
    """A tracker that answers for many runs at once much quicker than for each of them."""

    bulk: ClassVar[int]
    """How many runs to ask for at once."""

    @abc.abstractmethod
    def fetch_many(self, runs: Sequence[Listed], quantities: Sequence[str]) -> Mapping[str, Mapping[str, Logged]]:
        """As `fetch`, for several runs: by key."""
