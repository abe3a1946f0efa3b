"""`RunStore`: runs in a folder that survives a kill at any moment and takes several writers at once.

Comes in: `Run`s. Goes out: summaries (a listing reads no curves), a `RunSet`, or a stream with bounded memory.

The folder holds `store.json` (the format's version) and segment files that never change once they have their name. Each
row of a segment carries when it was written, and of several rows with one name the newest counts: so a write is one
rename, the last writer wins, and merging segments (`compact`) changes nothing a reader can see. That stamp is the
writer's clock or, if later, one more than the newest in the store. Runs' names are never used as file names. What is
inside a segment, `segment.py` knows; which one counts, `catalog.py`; how files are written whole on a disk or at an
address (s3://, gs://, ...), `folder.py` and `remote.py`.
"""

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar._plain import from_json
from lodestar.runs import segment
from lodestar.runs.catalog import Catalog, Damage, NewestRow, segment_name
from lodestar.runs.folder import AbstractFolder, LocalFolder, open_folder
from lodestar.runs.run import Run
from lodestar.runs.runset import RunSet
from lodestar.runs.summary import RunSummary

HEADER = "store.json"
BATCH_RUNS = 512
BATCH_VALUES = 600_000  # 10 MB: a segment's curves in memory, and so the memory that streaming takes
_ABANDONED_SECONDS = 24 * 3600.0
_REMEMBERED_NS = 7 * 24 * 3600 * 10**9  # a removal outlives any merge that began before it
_ATTEMPTS = 20


class RunStore:
    """A folder of runs, at a path or an address such as "s3://bucket/runs". Nothing is read until it is asked for; the
    first write makes the folder.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._folder = open_folder(path)
        self._catalog = Catalog(self._folder)
        self._last_written = 0

    @property
    def address(self) -> str:
        """Where the store is, for people: a path, or an address without its credentials. Where there are none,
        `RunStore(store.address)` is the same store.
        """
        return self._folder.address

    @property
    def folder(self) -> AbstractFolder:
        """What its files lie in."""
        return self._folder

    @property
    def path(self) -> Path:
        """The folder on this machine; an error for a store at an address."""
        if not isinstance(self._folder, LocalFolder):
            raise StoreError(
                f"the store {self.address} is not on this machine, so it has no path. Fix: use its address"
            )
        return self._folder.path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "RunStore":
        """A store that must exist already."""
        store = cls(path)
        store._check_header()
        return store

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> "RunStore":
        """A store that is made now if it is not there yet."""
        store = cls(path)
        store.make()
        return store

    def exists(self) -> bool:
        """Whether there is a store at this path."""
        return self._folder.has(HEADER)

    def __repr__(self) -> str:
        return f"RunStore({self.address!r})"

    def __len__(self) -> int:
        return len(self._index())

    def __contains__(self, name: object) -> bool:
        return name in self._index()

    def __iter__(self) -> Iterator[Run]:
        return self.iter()

    def add(self, run: Run) -> None:
        """Store one run; a run of that name is replaced. When this returns, the run is on the disk."""
        self.add_many([run])

    def add_many(self, runs: Iterable[Run]) -> int:
        """Store runs from any iterable, some hundreds to a file; returns how many. Each file is all or nothing."""
        self.make()
        stored = 0
        for batch in _batches(runs):
            now = self._now()
            try:
                self._write(batch, dict.fromkeys((run.name for run in batch), now))
            except StoreError as error:
                raise StoreError(f"{error} (of the runs handed in, {stored} are stored, the others not)") from error
            stored += len(batch)
        return stored

    def remove(self, names: Iterable[str]) -> int:
        """Remove runs by name; returns how many. If one is not there, that is an error, and none is removed."""
        wanted = list(dict.fromkeys(names))
        self._check_names(wanted, self._index())
        if wanted:
            self._write([], dict.fromkeys(wanted, self._now()))
        return len(wanted)

    def compact(self) -> None:
        """Merge all segments into few large ones. Safe beside readers and writers, and against a kill at any moment.

        Where there are no locks, so are two merges at once: merged rows keep their times, removals are kept too, and
        what is deleted was written anew before. So whatever the order, the newest row of each name is always there.
        """
        self._check_header()
        with self._folder.merging():
            old = self._merge()
            with self._folder.deleting():
                for name in old:  # oldest first: a removal must outlive the run it removes
                    self._folder.delete(name)
            self._folder.drop_abandoned(_ABANDONED_SECONDS)

    def damage(self) -> tuple[Damage, ...]:
        """Every segment that cannot be read. Reads the whole store; empty is good."""
        self._check_header()
        return self._catalog.damage()

    def read(self, names: Iterable[str] | None = None, *, skip_damaged: bool = False) -> RunSet:
        """Runs in memory, sorted by name, or in the order of `names`."""
        wanted = None if names is None else list(dict.fromkeys(names))
        found = {run.name: run for run in self.iter(wanted, skip_damaged=skip_damaged)}
        return RunSet(found[name] for name in (sorted(found) if wanted is None else wanted) if name in found)

    def iter(self, names: Iterable[str] | None = None, *, skip_damaged: bool = False) -> Iterator[Run]:
        """Runs one after another, file by file; memory holds one file's worth. `skip_damaged` logs what it skips."""
        index = self._index(skip_damaged=skip_damaged)
        if names is not None:
            wanted = dict.fromkeys(names)
            if not skip_damaged:
                self._check_names(wanted, index)
            index = {name: index[name] for name in wanted if name in index}
        return self._catalog.stream(index, skip_damaged=skip_damaged)

    def list(self, *, skip_damaged: bool = False) -> list[RunSummary]:
        """All runs in one line each, sorted by name, without reading a curve."""
        return [entry.summary for _, entry in sorted(self._index(skip_damaged=skip_damaged).items())]

    def _index(self, *, skip_damaged: bool = False) -> dict[str, NewestRow]:
        self._check_header()
        return self._catalog.index(skip_damaged=skip_damaged)

    def _merge(self) -> Sequence[str]:
        """Write all there is anew; returns the segments that are not needed any more."""
        for _ in range(_ATTEMPTS):
            old = self._catalog.segments()
            try:
                self._write_anew(old)
                return old
            except FileNotFoundError:  # merged away by another machine: begin again; what we wrote does no harm
                continue
        raise self._catalog.too_fast()

    def _write_anew(self, old: Sequence[str]) -> None:
        index = self._catalog.index_of(old)
        recent = time.time_ns() - _REMEMBERED_NS
        removed = {name: when for name, when in self._catalog.removals_of(old).items() if when > recent}
        for batch in _batches(self._catalog.stream(index, skip_damaged=False, follow=False)):
            self._write(batch, {run.name: index[run.name].written for run in batch} | removed)
            removed = {}
        if removed:
            self._write([], removed)

    def _write(self, runs: Iterable[Run], written: dict[str, int]) -> None:
        """One segment: `runs`, and a removal for every other name in `written`."""
        data = segment.encode(tuple(runs), written)
        name = segment_name(max(written.values()), secrets.token_hex(6), data)
        self._folder.write(name, data)

    def _now(self) -> int:
        """A stamp after every write that has ended, whoever made it: the order hangs on no machine's clock."""
        self._last_written = max(time.time_ns(), self._catalog.newest_stamp() + 1, self._last_written + 1)
        return self._last_written

    def make(self) -> None:
        """Make the store now, if it is not there yet."""
        if self.exists():
            self._check_header()
            return
        try:
            strangers = [name for name in self._folder.names() if not _is_ours(name)]
            if strangers:
                raise StoreError(
                    f"{self.address} holds other files ({strangers[0]!r}) and is no run store, so nothing is written "
                    "there. Fix: name a new or empty folder"
                )
            self._folder.make()
        except OSError as error:
            raise StoreError(_disk.cannot_write(self._folder.place(""), error)) from error
        self._folder.write(HEADER, json.dumps({"lodestar store": segment.VERSION}).encode() + b"\n")

    def _check_header(self) -> None:
        try:
            version = from_json(self._folder.read(HEADER))["lodestar store"]
            segment.check_version(str(version).encode())
        except (FileNotFoundError, NotADirectoryError) as error:
            if self._folder.exists():
                raise StoreError(
                    f"{self.address} is no run store (it has no {HEADER}). Fix: check the path, or make a new store: "
                    "lodestar import FILES --out STORE"
                ) from error
            cure = f"lodestar import FILES --out {self.address}"
            raise StoreError(f"there is no run store at {self.address}. Fix: {cure}") from error
        except OSError as error:
            raise StoreError(
                f"cannot read {self._folder.place(HEADER)}: {error.strerror}. Fix: check its mode"
            ) from error
        except (ValueError, KeyError, TypeError, segment.Damaged) as error:
            raise StoreError(
                f"{self._folder.place(HEADER)} is damaged. The runs beside it are not touched. Fix: delete that "
                f"file, then RunStore.create({self.address!r}) writes it anew"
            ) from error

    def _check_names(self, wanted: Iterable[str], index: dict[str, NewestRow]) -> None:
        missing = [name for name in wanted if name not in index]
        if missing:
            raise StoreError(
                f"no run called {missing[0][:200]!r} in {self.address} ({len(missing)} of those asked for are missing; "
                f"it holds {len(index)}). Fix: lodestar runs {self.address} lists the names"
            )


def _is_ours(name: str) -> bool:
    ours = (*LocalFolder.LOCKS, HEADER)
    return name in ours or name.startswith((_disk.PARTIAL, "runs-"))


def _batches(runs: Iterable[Run]) -> "Iterator[tuple[Run, ...]]":
    """Runs in groups that make one segment each; of two with one name in a group, the later stays."""
    batch: dict[str, Run] = {}
    values = 0
    for run in runs:
        batch.pop(run.name, None)
        batch[run.name] = run
        values += len(run.loss) + len(run.metric) + len(run.lr)
        if len(batch) >= BATCH_RUNS or values >= BATCH_VALUES:
            yield tuple(batch.values())
            batch, values = {}, 0
    if batch:
        yield tuple(batch.values())
