"""The `.wandb` file a W&B client writes: a log of records in 32 KiB blocks, as LevelDB has it, each a protobuf message.

A half record at the end (a killed job) is left out and noted; so is a damaged one. The fields are those of
wandb_internal.proto; W&B itself is not needed to read them, and may be of any version. (It has no reader to offer: that
of older clients, `wandb.sdk.internal.datastore`, is gone since their core is no Python any more.)
"""

import dataclasses
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lodestar._errors import RunError
from lodestar.importers.readers._folder import unreadable
from lodestar.importers.readers._protobuf import bytes_of, fields, int_of, signed, text
from lodestar.runs.note import Note, NoteKind

_BLOCK = 32768
_HEADER = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MAGIC = b":W&B"
HISTORY, CONFIG, RUN, EXIT = 2, 5, 17, 18
_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}  # as W&B writes them
_HALF = "it ends in half a record (still written, or killed); all before was read"


@dataclasses.dataclass
class WandbFile:
    """What a file told; `on_row` gets each row of history as it is read: a step and the values by name."""

    path: Path
    on_row: Callable[[int, dict[str, Any]], None]
    run_id: str = ""
    name: str = ""
    project: str = ""
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    state: str = "running"  # until the file says how it ended
    notes: list[Note] = dataclasses.field(default_factory=list)

    def read(self) -> "WandbFile":
        for record in self._records():
            try:
                for number, value in fields(record):
                    self._take(number, value)
            except ValueError:
                self._note("a record that cannot be understood was left out")
        return self

    def _take(self, number: int, value: int | bytes) -> None:
        if number == HISTORY:
            self._history(bytes_of(value))
        elif number == CONFIG:
            self._config(bytes_of(value))
        elif number == RUN:
            self._run(bytes_of(value))
        elif number == EXIT:
            code = signed(int_of(dict(fields(bytes_of(value))).get(1, 0)))
            self.state = "finished" if code == 0 else "failed"

    def _run(self, data: bytes) -> None:
        for number, value in fields(data):
            if number == 1:
                self.run_id = text(value)
            elif number == 3:
                self.project = text(value)
            elif number == 4:
                self._config(bytes_of(value))
            elif number == 8:
                self.name = text(value)

    def _config(self, data: bytes) -> None:
        for number, value in fields(data):
            names, found = _item(bytes_of(value)) if number in (1, 2) else ([], None)
            if not names or names[0] == "_wandb":
                continue
            within = self.config
            for name in names[:-1]:
                if not isinstance(within.get(name), dict):
                    within[name] = {}
                within = within[name]
            if number == 1:
                within[names[-1]] = found
            else:
                within.pop(names[-1], None)

    def _history(self, data: bytes) -> None:
        row: dict[str, Any] = {}
        step = None
        for number, value in fields(data):
            if number == 1:
                names, found = _item(bytes_of(value))
                row[".".join(names)] = found
            elif number == 2:
                step = signed(int_of(dict(fields(bytes_of(value))).get(1, 0)))
        at = row.get("_step", step)
        if isinstance(at, int | float):
            self.on_row(int(at), row)
        else:
            self._note("a row without a step was left out")

    def _records(self) -> Iterator[bytes]:
        """Whole records, put together from their parts."""
        whole: bytes | None = None
        try:
            with self.path.open("rb") as file:
                self._check_start(file.read(len(_MAGIC) + 3))
                for kind, part in self._parts(file):
                    if kind in (_FULL, _FIRST):
                        whole = part
                    elif whole is not None:
                        whole += part
                    if kind in (_FULL, _LAST) and whole is not None:
                        yield whole
                    if kind not in (_FIRST, _MIDDLE):
                        whole = None
        except OSError as error:
            raise unreadable(self.path, error) from error
        if whole is not None:
            self._note(_HALF, NoteKind.INCOMPLETE)

    def _parts(self, file: Any) -> Iterator[tuple[int, bytes]]:
        """The parts of each block, checksums verified; a damaged part spoils the record it belongs to (kind 0).

        A damaged header hides where the next part begins: it is searched for, so that one bad byte costs one record.
        """
        place, block = len(_MAGIC) + 3, file.read(_BLOCK - len(_MAGIC) - 3)
        while block:
            following = file.read(_BLOCK)
            at = 0
            while at + _HEADER.size <= len(block):
                _, length, kind = _HEADER.unpack_from(block, at)
                if kind == 0 and length == 0:
                    break  # the rest of the block is empty
                if (end := _end(block, at)) is not None:
                    yield kind, block[at + _HEADER.size : end]
                    at = end
                    continue
                begins = next((later for later in range(at + 1, len(block)) if _end(block, later)), None)
                if begins is None and not following:
                    self._note(_HALF, NoteKind.INCOMPLETE)
                    break
                self._note(f"a damaged record near byte {place + at} was left out (wrong checksum)")
                yield 0, b""
                at = len(block) if begins is None else begins
            place += len(block)
            block = following

    def _check_start(self, start: bytes) -> None:
        if not start:
            raise RunError(f"{self.path} is empty. Fix: leave it out: its run was killed before it began")
        if not start.startswith(_MAGIC):
            raise RunError(f"{self.path} is not a W&B run file: it starts with {start!r}. Fix: leave it out")

    def _note(self, sentence: str, kind: NoteKind = NoteKind.LEFT_OUT) -> None:
        whole = Note(f"{self.path.name}: {sentence}", kind)
        if whole not in self.notes:
            self.notes.append(whole)


def number(value: Any) -> float | None:
    """A logged value as a number; None for what is none (text, images, tables, histograms)."""
    if isinstance(value, str):
        return _WORDS.get(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def numbers(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a row, nested ones named with dots; W&B's own (`_step`, `_runtime`) are left out."""
    for name, value in row.items():
        if not prefix and name.startswith("_"):
            continue
        if isinstance(value, Mapping):
            if "_type" not in value:  # images, tables and the like
                yield from numbers(value, f"{prefix}{name}.")
        elif (found := number(value)) is not None:
            yield f"{prefix}{name}", found


def _end(block: bytes, at: int) -> int | None:
    """Where the part ends that begins at `at`, if it is whole and its checksum right."""
    if at + _HEADER.size > len(block):
        return None
    crc, length, kind = _HEADER.unpack_from(block, at)
    begin, end = at + _HEADER.size, at + _HEADER.size + length
    if kind not in (_FULL, _FIRST, _MIDDLE, _LAST) or end > len(block):
        return None
    return end if zlib.crc32(block[begin:end], zlib.crc32(bytes([kind]))) == crc else None


def _item(data: bytes) -> tuple[list[str], Any]:
    """A config or history item: its name, level by level, and its value (None if there is none)."""
    names: list[str] = []
    value: Any = None
    for number, found in fields(data):
        if number == 1:
            names = [text(found)]
        elif number == 2:
            names.append(text(found))
        elif number == 4:
            value = bool(found)
        elif number == 5:
            value = signed(int_of(found))
        elif number == 6:
            value = struct.unpack("<d", bytes_of(found))[0]
        elif number in (7, 8, 16):
            value = _json(text(found)) if number != 7 else text(found)
    return names, value


def _json(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return written
