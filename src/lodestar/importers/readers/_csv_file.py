"""CSV files, for tables and for the logs of Lightning, Ultralytics and Ray alike: read by Arrow, a block at a time.

Types are set, not inferred: a column may be blank for its first million rows.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import RunError
from lodestar._extras import need
from lodestar.importers.reader import LoggedCurve
from lodestar.importers.readers._folder import unreadable
from lodestar.runs.note import Note, NoteKind

Skip = Callable[[Any], str]
"""Asked about a row that has more or fewer cells than the header; answers "skip"."""


def header(path: Path) -> list[str]:
    """The names in the first line, as they stand there."""
    with open_csv(path, {}, [""], lambda row: "skip") as reader:
        return list(reader.schema.names)


def open_csv(path: Path, types: Mapping[str, str], blanks: Sequence[str], skip: Skip, *, numbered: bool = False) -> Any:
    """Arrow's reader of record batches, of the columns in `types` (of all, if there are none).

    `numbered` rows come to `skip` with their line, which costs the second thread.
    """
    pa, csv = need("pyarrow", "cli"), need("pyarrow.csv", "cli")
    kinds = {name: pa.type_for_alias(kind) for name, kind in types.items()}
    return csv.open_csv(
        str(path),
        read_options=csv.ReadOptions(use_threads=not numbered),
        parse_options=csv.ParseOptions(delimiter=_delimiter(path), invalid_row_handler=skip),
        convert_options=csv.ConvertOptions(
            column_types=kinds, include_columns=list(kinds), null_values=list(blanks), strings_can_be_null=True
        ),
    )


def columns(path: Path) -> tuple[str, ...]:
    """The names in the header of a log, without the blanks some libraries pad them with."""
    return tuple(name for name in _places(path) if name)


def read_columns(path: Path, wanted: Sequence[str], clock: str) -> dict[str, LoggedCurve]:
    """The wanted columns, each against the clock column of the same rows; a column never filled is left out.

    Cells that are no numbers, and rows that are not whole, are left out and noted.
    """
    places = _places(path)
    if clock not in places:
        raise RunError(
            f"{path} has no column {clock!r}; it has {', '.join(places)}. Fix: pass the file as it was written"
        )
    table, short_rows = _read(path, {name: places[name] for name in (clock, *wanted) if name in places})
    cells = {name: _Cells.of(column) for name, column in table.items()}
    notes = (*(note for name, one in cells.items() for note in one.notes(name, short_rows)), *_about(short_rows))
    curves: dict[str, LoggedCurve] = {}
    for name in dict.fromkeys(wanted):
        if name in cells and (keep := cells[name].is_number & cells[clock].is_number).any():
            curves[name] = LoggedCurve(cells[clock].values[keep], cells[name].values[keep], notes)
    return curves


@dataclasses.dataclass(frozen=True)
class _Cells:
    """A column's cells as numbers, which of them are, and the rest that is not blank: its texts by row."""

    values: NDArray[np.float64]
    is_number: NDArray[np.bool_]
    odd: Mapping[int, str]

    @classmethod
    def of(cls, column: Any) -> "_Cells":
        """Numbers from texts: all at once, or one by one where some are none."""
        compute, arrow = need("pyarrow.compute", "cli"), need("pyarrow", "cli").ArrowInvalid
        texts = compute.utf8_trim_whitespace(column)
        texts = compute.if_else(compute.equal(texts, ""), None, texts)
        filled = texts.is_valid().to_numpy(zero_copy_only=False)
        try:
            numbers = texts.cast("float64").to_numpy(zero_copy_only=False)
            return cls(numbers, filled, {})
        except arrow:
            each = [_number(text) for text in texts.to_pylist()]
            odd = {row: texts[row].as_py() for row in np.flatnonzero(filled).tolist() if each[row] is None}
            values = np.array([np.nan if value is None else value for value in each], np.float64)
            return cls(values, np.array([value is not None for value in each], bool), odd)

    def notes(self, name: str, short_rows: Sequence[int]) -> list[Note]:
        if not self.odd:
            return []
        row, text = next(iter(self.odd.items()))
        line = row + 2  # after the header, counted from 1
        for short in short_rows:
            line += short <= line
        what = f"{len(self.odd)} cells of column {name!r} are no numbers (the first is {text!r} on line {line})"
        return [Note(f"{what}: left out", NoteKind.LEFT_OUT)]


def _about(short_rows: Sequence[int]) -> list[Note]:
    if not short_rows:
        return []
    what = f"{len(short_rows)} rows are not whole (the first on line {short_rows[0]}): left out"
    return [Note(what, NoteKind.LEFT_OUT)]


def _read(path: Path, places: Mapping[str, str]) -> tuple[dict[str, Any], list[int]]:
    """Columns as texts, by their stripped names; and the lines that are not whole."""
    pa = need("pyarrow", "cli")
    short_rows: list[int] = []

    def skip(row: Any) -> str:
        short_rows.append(row.number)
        return "skip"

    try:
        with open_csv(path, dict.fromkeys(places.values(), "string"), [""], skip, numbered=True) as reader:
            table = reader.read_all()
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise unreadable(path, error if isinstance(error, OSError) else ValueError(str(error))) from error
    return {name: table.column(place).combine_chunks() for name, place in places.items()}, short_rows


def _places(path: Path) -> dict[str, str]:
    """Stripped name -> name in the file."""
    try:
        if path.stat().st_size == 0:
            raise RunError(
                f"{path} is empty: it has no header. Fix: leave the run out, or wait until it has logged something"
            )
        return {name.strip(): name for name in header(path)}
    except (OSError, UnicodeDecodeError, need("pyarrow", "cli").ArrowException) as error:
        raise unreadable(path, error if isinstance(error, OSError) else ValueError(str(error))) from error


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _delimiter(path: Path) -> str:
    """The sign that occurs most often in the first line; a comma where none does."""
    with need("pyarrow", "cli").input_stream(str(path)) as stream:
        heading = stream.read(65_536).split(b"\n")[0]
    return max(",\t;", key=lambda sign: heading.count(sign.encode()))
