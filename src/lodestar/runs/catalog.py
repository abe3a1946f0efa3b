"""Which segment of a store holds the newest version of each run, and how to read it beside other processes.

Copes with segments that a `compact` in another process merges away under our feet, and with damaged ones: an error that
names the file, or, when asked, a warning in the log. Never writes.
"""

import collections
import dataclasses
import logging
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from lodestar._errors import StoreError
from lodestar.runs import segment
from lodestar.runs.folder import AbstractFolder
from lodestar.runs.run import Run
from lodestar.runs.summary import RunSummary

log = logging.getLogger(__name__)

_ATTEMPTS = 20
_FIRST_GUESS = 16_384  # bytes: holds the footer of a segment of about 40 runs, and the whole of a small one


@dataclasses.dataclass(frozen=True)
class Damage:
    """A segment that cannot be read, and why; `runs` are those known to be in it (none if even that is lost)."""

    file: Path | str
    reason: str
    runs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class NewestRow:
    """Where the newest version of a run lies."""

    file: str
    written: int
    summary: RunSummary


def segment_name(stamp: int, token: str, data: bytes | memoryview) -> str:
    """A name no other segment has, which sorts by time and carries checksums of the footer and of the whole."""
    return f"runs-{stamp:020d}-{token}-{zlib.crc32(segment.footer(data)):08x}-{zlib.crc32(data):08x}.parquet"


class Catalog:
    """The segments of one folder. What was read of a segment is kept, since segments never change."""

    def __init__(self, folder: AbstractFolder):
        self.folder = folder
        self._known: dict[str, tuple[segment.SegmentRow, ...] | Damage] = {}

    def segments(self) -> list[str]:
        """The names of the segments, oldest first."""
        try:
            names = self.folder.names()
        except OSError as error:
            raise StoreError(
                f"cannot read the store at {self.folder.address}: {error}. Fix: check the folder"
            ) from error
        return sorted(name for name in names if name.startswith("runs-") and name.endswith(".parquet"))

    def newest_stamp(self) -> int:
        """The time of the latest write, 0 in an empty store."""
        stamps = [name.split("-")[1] for name in self.segments()]
        return max((int(stamp) for stamp in stamps if stamp.isdigit()), default=0)

    def index(self, *, skip_damaged: bool = False) -> dict[str, NewestRow]:
        """Name -> newest row, in the order of the segments."""
        for _ in range(_ATTEMPTS):
            try:
                return self.index_of(self.segments(), skip_damaged=skip_damaged)
            except FileNotFoundError:  # merged away since we looked: look again
                continue
        raise self.too_fast()

    def index_of(self, names: Sequence[str], *, skip_damaged: bool = False) -> dict[str, NewestRow]:
        """The same of these segments. `FileNotFoundError` if one is gone."""
        self._learn(names)
        found = {name: entry for name, entry in self._newest(names).items() if isinstance(entry, NewestRow)}
        self._report(found, skip_damaged)
        return found

    def removals_of(self, names: Sequence[str]) -> dict[str, int]:
        """Runs of which the newest row in these segments is a removal, and when that was."""
        self._learn(names)
        return {name: row for name, row in self._newest(names).items() if isinstance(row, int)}

    def too_fast(self) -> StoreError:
        """The store changed under our eyes each time."""
        return StoreError(f"the store at {self.folder.address} changes faster than it can be read. Fix: try again")

    def stream(self, index: dict[str, NewestRow], *, skip_damaged: bool, follow: bool = True) -> Iterator[Run]:
        """The runs of an index, one segment in memory at a time. Where a segment is gone, all runs still to come are
        looked for anew (`follow`), so that a merged segment is decoded once; or it is a `FileNotFoundError`.
        """
        queue = collections.deque(_by_file(index))
        while queue:
            file, names = queue.popleft()
            try:
                yield from segment.decode(self._bytes(file), names)
            except FileNotFoundError:
                if not follow:
                    raise
                fresh = self.index(skip_damaged=skip_damaged)
                rest = [*names, *(name for _, others in queue for name in others)]
                queue = collections.deque(_by_file({name: fresh[name] for name in rest if name in fresh}))
            except segment.Damaged as error:
                self._known[file] = Damage(self.folder.place(file), str(error), tuple(names))
                self._report(index, skip_damaged)

    def damage(self) -> tuple[Damage, ...]:
        """Reads everything; returns every segment that cannot be read."""
        collections.deque(self.stream(self.index(skip_damaged=True), skip_damaged=True), maxlen=0)
        return self._damaged()

    def _bytes(self, name: str) -> bytes:
        data = self.folder.read(name)
        _check(name, 4, data)
        return data

    def _newest(self, names: Sequence[str]) -> dict[str, NewestRow | int]:
        """Name -> where its newest row lies, or when it was removed."""
        newest: dict[str, tuple[int, str]] = {}
        found: dict[str, NewestRow | int] = {}
        for name in names:
            rows = self._known[name]
            for row in () if isinstance(rows, Damage) else rows:
                if (row.written, name) >= newest.get(row.name, (-1, "")):
                    newest[row.name] = (row.written, name)
                    found[row.name] = row.written if row.summary is None else NewestRow(name, row.written, row.summary)
        return found

    def _learn(self, names: Sequence[str]) -> None:
        """Read the footers of those segments that are new to us, and forget the others'."""
        self._known = {name: self._known[name] for name in names if name in self._known}
        ends = self.folder.ends(dict.fromkeys((name for name in names if name not in self._known), _FIRST_GUESS))
        longer = {name: size for name, end in ends.items() if (size := segment.footer_size(end)) > _FIRST_GUESS}
        ends |= self.folder.ends(longer)
        self._known |= {name: self._rows(name, end) for name, end in ends.items()}

    def _rows(self, name: str, end: bytes) -> tuple[segment.SegmentRow, ...] | Damage:
        try:
            _check(name, 3, segment.footer(end))
            return tuple(segment.decode_listing(segment.footer(end)))
        except segment.Damaged as error:
            return Damage(self.folder.place(name), str(error))

    def _damaged(self) -> tuple[Damage, ...]:
        return tuple(known for known in self._known.values() if isinstance(known, Damage))

    def _report(self, index: dict[str, NewestRow], skip_damaged: bool) -> None:
        damaged = self._damaged()
        if not damaged:
            return
        fine = sum(not isinstance(self._known.get(entry.file), Damage) for entry in index.values())
        text = _damage_text(damaged, fine)
        if not skip_damaged:
            raise StoreError(text)
        log.warning("%s", text)


def _check(name: str, part: int, data: bytes) -> None:
    """Compare with the checksum that is that `part` of the name."""
    if [f"{zlib.crc32(data):08x}"] != name.removesuffix(".parquet").split("-")[part : part + 1]:
        raise segment.Damaged("its content does not match the checksum in its name")


def _by_file(index: dict[str, NewestRow]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for name, entry in index.items():
        groups.setdefault(entry.file, []).append(name)
    return list(groups.items())


def _damage_text(damaged: tuple[Damage, ...], fine: int) -> str:
    first = damaged[0]
    more = f" (and {len(damaged) - 1} more files)" if len(damaged) > 1 else ""
    lost = sorted({name for damage in damaged for name in damage.runs})
    inside = f" It holds {_short(lost)}." if lost else ""
    return (
        f"the store file {first.file} is damaged: {first.reason}{more}.{inside} The other {fine} runs are fine. Fix: "
        "read those with skip_damaged=True (--skip-damaged); delete the damaged file and import its runs again"
    )


def _short(names: list[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
