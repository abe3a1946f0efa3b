"""What every source of runs is to us, tracker or table: a list of runs, and the curves of each.

Comes in: an address. Goes out: `ListedRun`s (cheap) and their `LoggedCurve`s (as they were: nothing merged, nothing
repaired). Which quantity is the loss, what a step is and what is left out is decided elsewhere, once for all readers.
A new reader is one file with one class that passes `lodestar.testing.ReaderContract`, and one entry in `registry.py`.
"""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lodestar._credentials import cleaned, safe_cause, stripped
from lodestar._errors import LodestarError, RunError, TrackerError
from lodestar._plain import storable
from lodestar.importers.choices import Choices
from lodestar.importers.roles import RoleGuess, listed_names
from lodestar.runs.note import Note, NoteKind
from lodestar.runs.run import Scalar


@dataclasses.dataclass(frozen=True)
class ListedRun:
    """A run as a listing shows it.

    `key` is the source's own id, never used twice. `version` changes when the run's data may have changed (end time,
    file size and date, number of rows): a run already imported at this version is not fetched again. `quantities` are
    the names of what it logged over time, `config` what is stated once. `state` is the source's own word for how the
    run stands ("FINISHED", "running", "crashed"). `group` is what a tracker files it under (an experiment, a
    project): the task, unless told otherwise. `trouble` is a sentence for a run that cannot be read at all (a damaged
    file, a deleted run): it is then left out for that reason, and never fetched. `points` is about how many values a
    quantity holds, 0 if not known: it only keeps many long runs from being in memory at once. `place` says where the
    run lies, if that is more than the reader's address. `notes` end up on the run.
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
    place: str = ""
    notes: tuple[Note, ...] = ()

    def cleaned(self) -> "ListedRun":
        """The same in valid Unicode, which is all a file can hold; what it logged keeps its names, to be fetched by."""
        config = {clean(key): clean(value) if isinstance(value, str) else value for key, value in self.config.items()}
        name, group = clean(self.name), None if self.group is None else clean(self.group)
        if (name, group, config) == (self.name, self.group, self.config):
            return self
        note = Note("its name, task or config is no valid Unicode: the odd signs were written out", NoteKind.ORIGIN)
        return dataclasses.replace(self, name=name, group=group, config=config, notes=(*self.notes, note))


@dataclasses.dataclass(frozen=True)
class LoggedCurve:
    """One quantity as it was logged, in the order of logging: `steps` is the source's own clock.

    `notes` say what was odd ("the file ends in the middle of a record"); they end up on the run.
    """

    steps: NDArray[np.float64]
    values: NDArray[np.float64]
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, points: Sequence[tuple[float, float]], notes: tuple[Note, ...] = ()) -> "LoggedCurve":
        """From pairs of step and value."""
        steps, values = np.array(points, np.float64).reshape(-1, 2).T.copy()
        return cls(steps, values, notes)

    @classmethod
    def joined(cls, pieces: Sequence["LoggedCurve"], notes: tuple[Note, ...] = ()) -> "LoggedCurve":
        """Pieces one after another."""
        steps = np.concatenate([np.zeros(0), *(piece.steps for piece in pieces)])
        return cls(steps, np.concatenate([np.zeros(0), *(piece.values for piece in pieces)]), notes)

    def __len__(self) -> int:
        return len(self.steps)

    def where(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> "LoggedCurve":
        """Some of the points."""
        return LoggedCurve(self.steps[keep], self.values[keep], self.notes)

    def last_of_each_step(self) -> "LoggedCurve":
        """In the order of steps; of several values at one step, the last logged."""
        order = np.argsort(self.steps, kind="stable")
        steps = self.steps[order]
        return self.where(order[np.append(steps[1:] != steps[:-1], True)])


Curves = Mapping[str, LoggedCurve]
Answer = Curves | RunError


clean = storable  # a lone surrogate is written out, as \\udc80


@contextlib.contextmanager
def about_one_run() -> Iterator[None]:
    """Turns an error nobody thought of, in one run's data, into a `RunError`: it is left out, and the others go on."""
    try:
        yield
    except LodestarError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise RunError(f"its data cannot be understood ({why}). Fix: mend what it logged, or leave it out") from error


def described(run: ListedRun, describe: Callable[[], ListedRun | None]) -> ListedRun | None:
    """What `describe` says of a run; the bare run with its trouble where that cannot be read."""
    try:
        with about_one_run():
            return describe()
    except RunError as error:
        return dataclasses.replace(run, trouble=str(error))


@contextlib.contextmanager
def told(address: str, whose: str, what: str) -> Iterator[None]:
    """Turns whatever another library raises into a `TrackerError` that says who could not do what, and why."""
    try:
        yield
    except TrackerError:
        raise
    except Exception as error:  # noqa: BLE001  each database has its own
        why = " ".join(cleaned(error, address).split())[:300] or type(error).__name__
        text = f"{what} {stripped(address)}: {why}. Fix: check the address, and what {whose} says"
        raise TrackerError(text) from safe_cause(error, address)


def chosen(wanted: str | Sequence[str], there: Sequence[str], what: str, address: str) -> list[str]:
    """The names a user gave, as a list, each checked to be one of those that are there."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in there:
            raise TrackerError(
                f"{address} has no {what} {name!r}. It has: {listed_names(there)}. "
                f"Fix: name one of these (--{what} NAME), or leave it out for all"
            )
    return names


class AbstractReader(abc.ABC):
    """A place that keeps runs. Opening it checks the address: a wrong one is an error with the cure."""

    kind: ClassVar[str]
    """The word after `lodestar import`."""
    address: str
    """Where the runs are, for people: a URL, a file, a folder (the whole path, the same from anywhere)."""
    error: ClassVar[type[LodestarError]] = TrackerError
    """What is raised where the place as a whole cannot be understood."""
    clock: str = "step"
    """What the source's own step counts: "step" (what was passed when logging), "epoch", or its own name for it."""
    clock_counts_calls: ClassVar[bool] = False
    """Whether the clock merely counts calls: then a logged `global_step` is the better step, if there is one."""
    keys_are_global: ClassVar[bool] = False
    """Whether a key is unique in the world (a UUID), or only at this address (a path, a number)."""
    names_are_keys: ClassVar[bool] = False
    """Whether a run is known by its name alone: it then replaces any run of that name, and is read each time."""
    roles: Mapping[str, str] = {}
    """What the source itself knows of the mapping, such as {"metric": "value", "direction": "max"}."""
    threads: ClassVar[int] = 4
    """How many runs may well be fetched at once; 1 for what is slower in threads."""

    @abc.abstractmethod
    def list(self) -> Iterator[ListedRun]:
        """Every run there, one after another; costs little per run."""

    @abc.abstractmethod
    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        """The whole history of the wanted quantities, none sampled; those the run never logged are left out.

        May be called from several threads at once. A run whose data cannot be read is a `RunError`: it is left out with
        that reason, and the others go on. A place that cannot be reached any more is the reader's `error`, which ends
        the import; what came before is stored.
        """


class AbstractBulkReader(AbstractReader):
    """A reader that answers for many runs at once much quicker than for each of them."""

    bulk: int
    """How many runs to ask for at once."""

    @abc.abstractmethod
    def fetch_many(self, runs: Sequence[ListedRun], quantities: Sequence[str]) -> Mapping[str, Answer]:
        """As `fetch`, for several runs: by key. A run whose data cannot be read has its error in their place."""


class AbstractHeadedReader(AbstractBulkReader):
    """A reader that knows all names before its runs, as a table does by its header, and lists runs by some of them."""

    oddities: "list[tuple[str, Note]]"
    """What was odd about a file, rather than about a run."""
    on_rows: Callable[[int, int, int], None] | None
    """Told of progress while many runs are fetched at once: files read, files in all, rows read."""

    @abc.abstractmethod
    def guess(self, choices: Choices) -> RoleGuess:
        """Which name is which; the clock is then what was taken for the step. Called before `list`."""
