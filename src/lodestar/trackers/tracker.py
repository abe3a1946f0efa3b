"""What every experiment tracker is to us: a list of runs, and the curves of each.

Comes in: an address. Goes out: `Listed` runs (cheap) and their `Curves` (as logged: nothing merged, nothing repaired).
Which quantity is the loss, what a step is and what is left out is decided elsewhere, once for all trackers. A new
tracker is one file with one class that passes `lodestar.testing.TrackerContract`.
"""

import abc
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Scalar


@dataclasses.dataclass(frozen=True)
class Listed:
    """A run as a listing shows it.

    `key` is the tracker's own id, never used twice. `version` changes when the run's data may have changed (end time,
    file size and date, number of rows): a run already imported at this version is not fetched again. `quantities` are
    the names of what it logged over time, `config` what is stated once. `state` is the tracker's own word for how the
    run stands ("FINISHED", "running", "crashed").
    """

    key: str
    name: str
    version: str
    quantities: tuple[str, ...] = ()
    config: Mapping[str, Scalar] = dataclasses.field(default_factory=dict)
    state: str = ""
    group: str | None = None


@dataclasses.dataclass(frozen=True)
class Logged:
    """One quantity as it was logged, in the order of logging: `steps` is the tracker's own clock."""

    steps: NDArray[np.float64]
    values: NDArray[np.float64]


class AbstractTracker(abc.ABC):
    """A place that keeps runs. Opening it checks the address: a wrong one is a `TrackerError` with the cure."""

    kind: str
    """The word after `lodestar import`."""

    @property
    @abc.abstractmethod
    def address(self) -> str:
        """Where the runs are, for people: a URL, a file, a folder."""

    @abc.abstractmethod
    def list(self) -> Iterator[Listed]:
        """Every run there, one after another; costs little per run."""

    @abc.abstractmethod
    def fetch(self, run: Listed, quantities: Sequence[str]) -> Mapping[str, Logged]:
        """The whole history of the wanted quantities, none sampled; those the run never logged are left out.

        May be called from several threads at once.
        """
