"""Rows of a table sorted to the runs they belong to, blanks left out: facts as written, curves in the file's order."""

import dataclasses
import math
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar.importers.reader import LoggedCurve
from lodestar.importers.readers._table_file import Frame
from lodestar.importers.roles import is_curve
from lodestar.runs.note import Note, NoteKind
from lodestar.runs.run import Scalar

Rows = NDArray[np.intp]


def rows_by_run(frame: Frame, columns: Sequence[str], file_run: str, prefix: str = "") -> list[tuple[str | None, Rows]]:
    """Each run with its rows, in the order of first appearance; None for rows that name no run.

    Without columns that name them, all rows belong to the run that the file names, or is named after. Several columns
    together name a run by their values; `prefix` says what stands before these ("column", "file" and column).
    """
    if not columns or any(column not in frame.columns for column in columns):
        return [(frame.run or file_run, np.arange(frame.rows))]
    parts = [frame.codes(column) for column in columns]
    codes = parts[0][0]
    for more, texts in parts[1:]:
        codes = np.unique((codes + 1) * (len(texts) + 1) + more, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    firsts = np.unique(codes[order], return_index=True)[1]
    runs = [rows for rows in np.split(order, firsts[1:]) if len(rows)]
    values = [[texts[of[rows[0]]] if of[rows[0]] >= 0 else "" for of, texts in parts] for rows in runs]
    file = frame.run or file_run if prefix == "file" else ""
    plain = len(columns) == 1 and not prefix
    named = [(_run_name(columns, each, file, plain), rows) for each, rows in zip(values, runs, strict=True)]
    return sorted(named, key=lambda part: part[1][0])


def _run_name(columns: Sequence[str], values: Sequence[str], file: str, plain: bool) -> str | None:
    if plain:
        return values[0] if values[0].strip() else None
    pairs = [f"{column}={value}" for column, value in zip(columns, values, strict=True) if value.strip()]
    return " ".join([file, *pairs]).strip() if pairs else None


@dataclasses.dataclass
class RunFacts:
    """What the files say once about a run: first values, and how it ended by the last one."""

    files: dict[Path, None] = dataclasses.field(default_factory=dict)
    quantities: dict[str, None] = dataclasses.field(default_factory=dict)
    config: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    stated: Counter[str] = dataclasses.field(default_factory=Counter)
    several: dict[str, None] = dataclasses.field(default_factory=dict)
    state: str = ""

    def add(self, frame: Frame, rows: Rows, columns: Iterable[str], roles: Container[str], status: str | None) -> None:
        self.config |= frame.facts
        self.state = str(frame.facts.get(status or "", self.state))
        for column in columns:
            if column in frame.facts or column not in frame.columns or column in self.several:
                continue
            if column not in roles and frame.differs(column, rows):
                self.several[column] = None
                continue
            codes, texts = frame.codes(column)
            stated = codes[rows]
            stated = stated[stated >= 0]
            if not len(stated):
                continue
            self.stated[column] += len(stated)
            if column == status:
                self.state = texts[stated[-1]]
            elif self.config.setdefault(column, texts[stated[0]]) != texts[stated[0]] or np.any(stated != stated[0]):
                self.several[column] = None

    def facts(self, roles: Container[str]) -> dict[str, Scalar]:
        """Roles as texts; of the other columns those with one value. A curve's single value is no fact."""
        kept = {
            name: value
            for name, value in self.config.items()
            if name in roles or (name not in self.several and (self.stated[name] != 1 or not is_curve(name)))
        }
        return {
            name: _scalar(value) if name in self.stated and name not in roles else value for name, value in kept.items()
        }

    def notes(self, roles: Container[str]) -> tuple[Note, ...]:
        notes = [
            Note(f"column {column!r} has several values, the first was kept", NoteKind.SEVERAL_VALUES)
            for column in self.several
            if column in roles
        ]
        if len(self.files) > 1:
            where = f"rows come from {len(self.files)} files ({self._first()})"
            notes.insert(0, Note(where, NoteKind.ORIGIN))
        return tuple(notes)

    def place(self) -> str:
        return self._first() + (" ..." if len(self.files) > 3 else "")

    def _first(self) -> str:
        return ", ".join(path.name for path in [*self.files][:3])


def _scalar(value: Scalar) -> Scalar:
    """A number where a text is plainly one."""
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            number = kind(value)
        except ValueError:
            continue
        return number if math.isfinite(number) and (kind is float or str(number) == value) else value
    return value


@dataclasses.dataclass
class RunRows:
    """The values of one run so far. Without a step column (None), rows are counted from 1."""

    step: str | None
    pieces: dict[str, list[LoggedCurve]] = dataclasses.field(default_factory=dict)
    rows: int = 0
    without_step: int = 0

    def add(self, frame: Frame, rows: Rows, quantities: Iterable[tuple[str, str]]) -> None:
        """Some rows of a file; each quantity comes with its column."""
        steps = self._steps(frame, rows)
        known = ~np.isnan(steps)
        self.without_step += int((~known).sum())
        for quantity, column in quantities:
            if column in frame.columns:
                values, logged = frame.numbers(column)
                keep = logged[rows] & known
                if keep.any():
                    self.pieces.setdefault(quantity, []).append(LoggedCurve(steps[keep], values[rows][keep]))

    def curves(self) -> dict[str, LoggedCurve]:
        lost = Note(f"{self.without_step} rows have no step and were left out", NoteKind.LEFT_OUT)
        notes = (lost,) if self.without_step else ()
        return {quantity: LoggedCurve.joined(pieces, notes) for quantity, pieces in self.pieces.items()}

    def _steps(self, frame: Frame, rows: Rows) -> NDArray[np.float64]:
        """The step of each row, NaN where blank."""
        counted = np.arange(self.rows + 1, self.rows + len(rows) + 1, dtype=np.float64)
        self.rows += len(rows)
        return counted if self.step is None else frame.numbers(self.step)[0][rows]
