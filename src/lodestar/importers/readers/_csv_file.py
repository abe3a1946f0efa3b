"""CSV logs with one row a logging call: columns of numbers, many cells empty.

Comes in: a CSV file with a header line. Goes out: its columns, and those asked for as they were logged against a clock
column. Names are stripped of the blanks some libraries pad them with. Cells that are no numbers are left out and noted.
Knows nothing of what a column means.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lodestar._errors import RunError
from lodestar.importers.readers._folder import unreadable
from lodestar.importers.tracker import Logged


def columns(path: Path) -> tuple[str, ...]:
    """The names in the header."""
    for _, row in _rows(path):
        return tuple(name for name in row if name)
    raise RunError(f"{path} is empty: it has no header. Fix: leave the run out, or wait until it has logged something")


def read_columns(path: Path, wanted: Sequence[str], clock: str) -> dict[str, Logged]:
    """The wanted columns, each against the clock column of the same rows; a column never filled is left out."""
    rows = _rows(path)
    _, header = next(rows, (0, []))
    if clock not in header:
        raise RunError(
            f"{path} has no column {clock!r}; it has {', '.join(header)}. Fix: pass the file as it was written"
        )
    places = {name: header.index(name) for name in dict.fromkeys(wanted) if name in header}
    steps: dict[str, list[float]] = {name: [] for name in places}
    values: dict[str, list[float]] = {name: [] for name in places}
    notes = _Oddities()
    for line, row in rows:
        if len(row) != len(header):
            notes.short_row(line)
            continue
        step = notes.number(row[header.index(clock)], clock, line)
        for name, place in places.items():
            if row[place]:
                value = notes.number(row[place], name, line)
                if value is not None and step is not None:
                    steps[name].append(step)
                    values[name].append(value)
    said = notes.sentences()
    return {name: Logged(np.array(steps[name]), np.array(values[name]), said) for name in places if steps[name]}


class _Oddities:
    """What could not be read, told once for each kind."""

    def __init__(self) -> None:
        self._short: list[int] = []
        self._odd: dict[str, tuple[str, int, int]] = {}

    def short_row(self, line: int) -> None:
        self._short.append(line)

    def number(self, text: str, name: str, line: int) -> float | None:
        try:
            return float(text)
        except ValueError:
            first, at, count = self._odd.get(name, (text, line, 0))
            self._odd[name] = (first, at, count + 1)
            return None

    def sentences(self) -> tuple[str, ...]:
        said = [
            f"{count} cells of column {name!r} are no numbers (the first is {first!r} on line {line}): left out"
            for name, (first, line, count) in self._odd.items()
        ]
        if self._short:
            said.append(f"{len(self._short)} rows are not whole (the first on line {self._short[0]}): left out")
        return tuple(said)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells, blanks stripped."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            for row in reader:
                if row:
                    yield reader.line_num, [cell.strip() for cell in row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise unreadable(path, error if isinstance(error, OSError) else ValueError(str(error))) from error
