"""TensorBoard event files read whole: every scalar of every tag, in the order of logging, nothing sampled.

A session that starts at a step voids what was logged there and later, as TensorBoard has it.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lodestar._errors import RunError
from lodestar.importers.reader import LoggedCurve
from lodestar.importers.readers._folder import unreadable
from lodestar.importers.readers._layout import Span, decoded, read_event
from lodestar.importers.readers._record_file import Block, Corrupt, RecordFile
from lodestar.runs.note import Note, NoteKind
from lodestar.runs.run import Scalar

_SIGN = 1 << 63


@dataclasses.dataclass
class Tag:
    """One tag's scalars: whole pieces, and what the block being read adds."""

    kept: bool
    count: int = 0
    pieces: list[LoggedCurve] = dataclasses.field(default_factory=list)
    steps: list[int] = dataclasses.field(default_factory=list)
    raws: list[bytes] | deque[bytes] = dataclasses.field(default_factory=list)
    dtype: str = ""

    def __post_init__(self):
        if not self.kept:
            self.raws = deque(maxlen=0)  # forgets what is put in

    def flush(self) -> None:
        """Turn what waits into a piece."""
        if self.steps and self.kept:
            self.pieces.append(LoggedCurve(np.array(self.steps, np.float64), decoded(b"".join(self.raws), self.dtype)))
        self.count += len(self.steps)
        self.steps.clear()  # in place: layouts hold on to these very lists
        self.raws.clear()

    def purge(self, step: int) -> None:
        """Void what was logged at `step` or later."""
        self.flush()
        self.pieces = [piece.where(piece.steps < step) for piece in self.pieces]

    def logged(self) -> LoggedCurve:
        self.flush()
        return LoggedCurve.joined(self.pieces)


@dataclasses.dataclass
class Events:
    """What the event files of a folder hold. `wanted` says whose values are kept; all tags are counted."""

    wanted: Callable[[str], bool]
    tags: dict[str, Tag] = dataclasses.field(default_factory=dict)
    config: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    state: str = ""
    notes: list[Note] = dataclasses.field(default_factory=list)
    _layouts: dict[int, list["_Layout"]] = dataclasses.field(default_factory=dict)  # by length of what follows the step
    _damaged: int = 0

    def read(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                records = RecordFile(file)
                self._read_blocks(path, records)
        except OSError as error:
            raise unreadable(path, error) from error
        if records.tail:
            what = f"{path.name} ends in half a record (still written, or killed); all before was read"
            self.notes.append(Note(what, NoteKind.INCOMPLETE))
        if self._damaged:
            what = f"{path.name}: {self._damaged} damaged records (wrong checksum) were left out"
            self.notes.append(Note(what, NoteKind.LEFT_OUT))
            self._damaged = 0

    def _read_blocks(self, path: Path, records: RecordFile) -> None:
        seen = 0
        try:
            for block in records.blocks():
                seen += len(block.starts)
                self._read_block(block)
                for tag in self.tags.values():
                    tag.flush()
        except (Corrupt, IndexError) as error:
            if not seen:
                raise RunError(
                    f"{path} is not a TensorBoard event file, or its start is damaged: {error}. "
                    "Fix: leave it out, or copy it again from where it was written"
                ) from error
            what = f"{path.name} is damaged, and was read up to there: {error}"
            self.notes.append(Note(what, NoteKind.INCOMPLETE))

    def _read_block(self, block: Block) -> None:
        """Every record. An event laid out like one before it differs in step and values only: a look in a dict."""
        data, layouts = block.data, self._layouts
        for start, stop, sound in zip(block.starts, block.stops, block.sound.tolist(), strict=True):
            if not sound:
                self._damaged += 1
                continue
            place, step = start + 9, 0
            if stop - start > 12 and data[start] == 0x09:  # wall time, which we pass by
                if data[place] == 0x10:  # step, a varint
                    shift, place = 0, place + 1
                    while (byte := data[place]) >= 0x80:
                        step |= (byte & 0x7F) << shift
                        shift, place = shift + 7, place + 1
                    step, place = step | byte << shift, place + 1
                    if step >= _SIGN:
                        step -= 2 * _SIGN
                for first, last, known, many in layouts.get(stop - place, ()):
                    if (add := known.get(data[place : place + first] + data[place + last : stop])) is not None:
                        add[0](step)
                        add[1](data[place + first : place + last])
                        break
                    if many and many.read(data[place:stop], step):
                        break
                else:
                    self._read_new(data, start, place, stop)
            else:
                self._read_new(data, start, start, stop)

    def _read_new(self, data: bytes, start: int, rest: int, stop: int) -> None:
        """An event of a layout not met before; it is remembered if its values stand at fixed places."""
        try:
            found = read_event(data, start, stop)
        except ValueError:
            self._damaged += 1
            return
        if found.restarts:
            for tag in self.tags.values():
                tag.purge(found.step)
        self.config |= found.config
        self.state = found.state or self.state
        tags = [self._add(span, found.step, data) for span in found.scalars]
        fixed = bool(tags) and all(span.value is None for span in found.scalars)
        if fixed and not found.config and not found.state and rest > start and found.scalars[0].start >= rest:
            self._learn(data[rest:stop], found.scalars, tags, rest)

    def _add(self, span: Span, step: int, data: bytes) -> Tag:
        tag = self.tags.setdefault(span.tag, Tag(self.wanted(span.tag)))
        dtype = "<f8" if span.value is not None else span.dtype
        if tag.dtype != dtype:
            tag.flush()
            tag.dtype = dtype
            self._layouts.clear()  # those of the old type would be read wrongly
        tag.steps.append(step)
        tag.raws.append(data[span.start : span.stop] if span.value is None else np.float64(span.value).tobytes())
        return tag

    def _learn(self, rest: bytes, scalars: list[Span], tags: list[Tag], offset: int) -> None:
        places = [(span.start - offset, span.stop - offset) for span in scalars]
        layouts = self._layouts.setdefault(len(rest), [])
        if len(places) > 1:
            if not (many := next((one.many for one in layouts if one.many and [*one.many.places] == places), None)):
                many = _Many(tuple(places))
                layouts.append(_Layout(0, 0, {}, many))
            many.known[many.around(rest)] = tags
            return
        first, last = places[0]
        known = next((one.known for one in layouts if (one.first, one.last) == (first, last)), None)
        if known is None:
            known = {}
            layouts.append(_Layout(first, last, known, None))
        known[rest[:first] + rest[last:]] = (tags[0].steps.append, tags[0].raws.append)


class _Layout(NamedTuple):
    """One value's place, and by the bytes around it where its step and its bytes go; or several values' places."""

    first: int
    last: int
    known: dict[bytes, tuple[Callable[[int], None], Callable[[bytes], None]]]
    many: "_Many | None"


@dataclasses.dataclass(frozen=True)
class _Many:
    """The places of several values in one event, and by the bytes around them whose they are."""

    places: tuple[tuple[int, int], ...]
    known: dict[bytes, list[Tag]] = dataclasses.field(default_factory=dict)

    def read(self, rest: bytes, step: int) -> bool:
        """Take the values if the event is known."""
        tags = self.known.get(self.around(rest))
        for tag, (first, last) in zip(tags or (), self.places, strict=False):
            tag.steps.append(step)
            tag.raws.append(rest[first:last])
        return tags is not None

    def around(self, rest: bytes) -> bytes:
        """The bytes that are no values."""
        edges = [0, *(edge for place in self.places for edge in place), len(rest)]
        return b"".join(rest[edges[n] : edges[n + 1]] for n in range(0, len(edges), 2))


def read_events(paths: Iterable[Path], wanted: Callable[[str], bool]) -> Events:
    """The event files of one folder, oldest first."""
    events = Events(wanted)
    for path in paths:
        events.read(path)
    return events
