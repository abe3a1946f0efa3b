"""Rows of a table sorted to the runs they belong to, blanks left out: facts as written, curves in the file's order."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar.importers.reader import LoggedCurve
from lodestar.importers.readers._table_file import Frame
from lodestar.runs.note import Note, NoteKind
from lodestar.runs.run import Scalar

Rows = NDArray[np.intp]


def rows_by_run(frame: Frame, column: str | None, file_run: str) -> list[tuple[str | None, Rows]]:
    """Each run with its rows, in the order of first appearance; None for rows that name no run.

    Without a column of names, all rows belong to the run that the file names, or is named after.
    """
    if column is None or column not in frame.columns:
        return [(frame.run or file_run, np.arange(frame.rows))]
    codes, names = frame.codes(column)
    order = np.argsort(codes, kind="stable")
    present, firsts = np.unique(codes[order], return_index=True)
    parts = zip(present.tolist(), np.split(order, firsts[1:]), strict=False)  # no rows at all: one part, of nothing
    named = [(names[code] if code >= 0 and names[code].strip() else None, rows) for code, rows in parts]
    return sorted(named, key=lambda part: part[1][0])


@dataclasses.dataclass
class RunFacts:
    """What the files say once about a run: first values, and how it ended by the last one."""

    files: dict[Path, None] = dataclasses.field(default_factory=dict)
    quantities: dict[str, None] = dataclasses.field(default_factory=dict)
    config: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    several: dict[str, None] = dataclasses.field(default_factory=dict)
    state: str = ""

    def add(self, frame: Frame, rows: Rows, columns: Iterable[str], status: str | None) -> None:
        self.config |= frame.facts
        self.state = str(frame.facts.get(status or "", self.state))
        for column in columns:
            if column in frame.facts or column not in frame.columns:
                continue
            codes, texts = frame.codes(column)
            stated = codes[rows]
            stated = stated[stated >= 0]
            if not len(stated):
                continue
            if column == status:
                self.state = texts[stated[-1]]
            elif self.config.setdefault(column, texts[stated[0]]) != texts[stated[-1]]:
                self.several[column] = None

    def notes(self) -> tuple[Note, ...]:
        notes = [
            Note(f"column {column!r} has several values, the first was kept", NoteKind.SEVERAL_VALUES)
            for column in self.several
        ]
        if len(self.files) > 1:
            where = f"rows come from {len(self.files)} files ({self._first()})"
            notes.insert(0, Note(where, NoteKind.ORIGIN))
        return tuple(notes)

    def place(self) -> str:
        return self._first() + (" ..." if len(self.files) > 3 else "")

    def _first(self) -> str:
        return ", ".join(path.name for path in [*self.files][:3])


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
        return {
            quantity: LoggedCurve(
                np.concatenate([piece.steps for piece in pieces]),
                np.concatenate([piece.values for piece in pieces]),
                notes,
            )
            for quantity, pieces in self.pieces.items()
        }

    def _steps(self, frame: Frame, rows: Rows) -> NDArray[np.float64]:
        """The step of each row, NaN where blank."""
        counted = np.arange(self.rows + 1, self.rows + len(rows) + 1, dtype=np.float64)
        self.rows += len(rows)
        return counted if self.step is None else frame.numbers(self.step)[0][rows]
