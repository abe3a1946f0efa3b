"""`RunStore`: runs on disk, in a folder that survives a kill at any moment and takes several writers at once.

Comes in: `Run`s. Goes out: summaries (a listing reads no curves), a `RunSet`, or a stream with bounded memory.

The folder holds `store.json` (the format's version) and segment files that never change once they have their name. Each
row of a segment carries the time it was written, and of several rows with one name the newest counts: so a write is one
rename, the last writer wins, and merging segments (`compact`) changes nothing a reader can see. Runs' names are never
used as file names. What is inside a segment, `segment.py` knows; which one counts, `catalog.py`.
"""

import contextlib
import json
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from lodestar import _disk
from lodestar._errors import StoreError
from lodestar.runs import segment
from lodestar.runs.catalog import SCAN_LOCK, Catalog, Damage, Entry, segment_name
from lodestar.runs.run import Run
from lodestar.runs.runset import RunSet
from lodestar.runs.summary import RunSummary

HEADER = "store.json"
BATCH_RUNS = 512
BATCH_VALUES = 600_000  # 10 MB: a segment's curves in memory, and so the memory that streaming takes
_ABANDONED_SECONDS = 24 * 3600.0


class RunStore:
    """A folder of runs. Nothing is read until it is asked for; the first write makes the folder."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._catalog = Catalog(self.path)
        self._last_written = 0

    @classmethod
    def open(cls, path: str | Path) -> "RunStore":
        """A store that must exist already."""
        store = cls(path)
        store._check_header()
        return store

    @classmethod
    def create(cls, path: str | Path) -> "RunStore":
        """A store that is made now if it is not there yet."""
        store = cls(path)
        store._make()
        return store

    def exists(self) -> bool:
        """Whether there is a store at this path."""
        try:
            return (self.path / HEADER).is_file()
        except OSError:  # a folder we may not look into
            return False

    def __repr__(self) -> str:
        return f"RunStore({str(self.path)!r})"

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
        self._make()
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
        """Merge all segments into few large ones. Safe beside readers and writers, and against a kill at any moment."""
        self._check_header()
        with _disk.locked(self.path / "compact.lock", exclusive=True):
            old = self._catalog.segments()
            index = self._catalog.index(only=old)
            for batch in _batches(self._catalog.stream(index, skip_damaged=False)):
                self._write(batch, {run.name: index[run.name].written for run in batch})
            with _disk.locked(self.path / SCAN_LOCK, exclusive=True):
                for name in old:  # oldest first: a removal must outlive the run it removes
                    (self.path / name).unlink(missing_ok=True)
            self._drop_abandoned()

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

    def _index(self, *, skip_damaged: bool = False) -> dict[str, Entry]:
        self._check_header()
        return self._catalog.index(skip_damaged=skip_damaged)

    def _write(self, runs: Iterable[Run], written: dict[str, int]) -> None:
        """One segment: `runs`, and a removal for every other name in `written`."""
        data = segment.encode(tuple(runs), written)
        name = segment_name(max(written.values()), secrets.token_hex(6), data)
        _disk.write_whole(self.path / name, data)

    def _now(self) -> int:
        """Nanoseconds, always after what the store held when we first wrote: a clock set back does no harm."""
        if self._last_written == 0:
            self._last_written = self._catalog.newest_stamp()
        self._last_written = max(time.time_ns(), self._last_written + 1)
        return self._last_written

    def _make(self) -> None:
        if self.exists():
            self._check_header()
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            strangers = [p.name for p in self.path.iterdir() if not _is_ours(p.name)]
            if strangers:
                raise StoreError(
                    f"{self.path} holds other files ({strangers[0]!r}) and is no run store, so nothing is written "
                    "there. Fix: name a new or empty folder"
                )
            for lock in (SCAN_LOCK, "compact.lock"):
                (self.path / lock).touch()
        except OSError as error:
            raise StoreError(_disk.cannot_write(self.path, error)) from error
        _disk.write_whole(self.path / HEADER, json.dumps({"lodestar store": segment.VERSION}).encode() + b"\n")

    def _check_header(self) -> None:
        try:
            version = json.loads((self.path / HEADER).read_text())["lodestar store"]
            segment.check_version(str(version).encode())
        except (FileNotFoundError, NotADirectoryError) as error:
            if self.path.exists():
                raise StoreError(
                    f"{self.path} is no run store (it has no {HEADER}). Fix: check the path, or make a new store: "
                    "lodestar import FILES --out STORE"
                ) from error
            cure = f"lodestar import FILES --out {self.path}"
            raise StoreError(f"there is no run store at {self.path}. Fix: {cure}") from error
        except OSError as error:
            raise StoreError(f"cannot read {self.path / HEADER}: {error.strerror}. Fix: check its mode") from error
        except (ValueError, KeyError, TypeError, segment.Damaged) as error:
            raise StoreError(
                f"{self.path / HEADER} is damaged. The runs beside it are not touched. Fix: delete that file, then "
                f"RunStore.create({str(self.path)!r}) writes it anew"
            ) from error

    def _check_names(self, wanted: Iterable[str], index: dict[str, Entry]) -> None:
        missing = [name for name in wanted if name not in index]
        if missing:
            raise StoreError(
                f"no run called {missing[0][:200]!r} in {self.path} ({len(missing)} of those asked for are missing; it "
                f"holds {len(index)}). Fix: lodestar runs {self.path} lists the names"
            )

    def _drop_abandoned(self) -> None:
        """Delete what killed writers left half-written long ago."""
        for path in self.path.glob(f"{_disk.PARTIAL}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                    path.unlink()


def _is_ours(name: str) -> bool:
    ours = (SCAN_LOCK, "compact.lock", HEADER)
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
