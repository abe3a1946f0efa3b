"""Rows of a table sorted to the runs they belong to, blanks left out.

Comes in: `Frame`s and the column guess. Goes out: for each run its pieces of loss, metric and lr in the order of the
file, and its facts as written. Judges nothing: duplicates, NaN and order are `assemble.py`'s affair.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.importers.tables.columns import CURVES, FACTS, ColumnGuess
from lodestar.importers.tables.sources import Frame
from lodestar.importers.tables.wide import WideColumn
from lodestar.runs.run import Scalar

Piece = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclasses.dataclass
class Gathered:
    """What the files say about one run so far."""

    name: str
    curves: dict[str, list[Piece]] = dataclasses.field(default_factory=lambda: {role: [] for role in CURVES})
    facts: dict[str, str] = dataclasses.field(default_factory=dict)
    extra: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    several: dict[str, str] = dataclasses.field(default_factory=dict)
    sources: list[str] = dataclasses.field(default_factory=list)
    rows: int = 0
    rows_without_step: int = 0


class Gathering:
    """All runs found so far, by name, in the order they appeared."""

    def __init__(self, guess: ColumnGuess):
        self.guess = guess
        self.runs: dict[str, Gathered] = {}
        self.rows_without_run = 0

    def add_long(self, frame: Frame, source: str, file_name: str) -> None:
        """Rows that name their run (or belong to the one the file is named after)."""
        column = self.guess["run"]
        if column is None or column not in frame.columns:
            self._add_rows(self._run(frame.run or file_name, source), frame, np.arange(frame.rows))
            return
        for name, rows in _groups(frame.texts(column)):
            if name is None or not name.strip():
                self.rows_without_run += len(rows)
            else:
                self._add_rows(self._run(name, source), frame, rows)

    def add_wide(self, frame: Frame, source: str, columns: Sequence[WideColumn]) -> None:
        """Rows that hold a value for each of many runs."""
        role_of = {self.guess[role]: role for role in CURVES if self.guess[role] is not None}
        for name in dict.fromkeys(column.run for column in columns):
            run = self._run(name, source)
            steps = self._steps(run, frame, np.arange(frame.rows))
            for column in columns:
                if column.run == name and column.quantity in role_of:
                    _add_piece(run, role_of[column.quantity], steps, *frame.numbers(column.column))

    def _run(self, name: str, source: str) -> Gathered:
        run = self.runs.setdefault(name, Gathered(name))
        if source not in run.sources:
            run.sources.append(source)
        return run

    def _add_rows(self, run: Gathered, frame: Frame, rows: NDArray[np.intp]) -> None:
        steps = self._steps(run, frame, rows)
        for role in CURVES:
            column = self.guess[role]
            if column is not None:
                values, logged = frame.numbers(column)
                _add_piece(run, role, steps, values[rows], logged[rows])
        for role in FACTS:
            self._add_fact(run, role, frame, rows)
        used = set(self.guess.columns.values())
        run.extra |= {key: value for key, value in frame.facts.items() if key not in used}

    def _steps(self, run: Gathered, frame: Frame, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The step of each row, NaN where blank; counted from 1 if there is no step column."""
        counted = np.arange(run.rows + 1, run.rows + len(rows) + 1, dtype=np.float64)
        run.rows += len(rows)
        column = self.guess["step"]
        if column is None:
            return counted
        steps, _ = frame.numbers(column)
        steps = steps[rows]
        run.rows_without_step += int(np.isnan(steps).sum())
        return steps

    def _add_fact(self, run: Gathered, role: str, frame: Frame, rows: NDArray[np.intp]) -> None:
        column = self.guess[role]
        if role == "run" or column is None:
            return
        if column in frame.facts:
            values = [str(frame.facts[column])]
        elif column in frame.columns:
            texts = frame.texts(column)
            values = [text for row in rows if (text := texts[row]) is not None]
        else:
            values = [column] if column.isdigit() else []
        if not values:
            return
        if role == "status":  # how it ended is what the last row says
            run.facts[role] = values[-1]
        elif run.facts.setdefault(role, values[0]) != values[-1]:
            run.several[role] = column


def _add_piece(
    run: Gathered, role: str, steps: NDArray[np.float64], values: NDArray[np.float64], logged: NDArray[np.bool_]
) -> None:
    keep = logged & ~np.isnan(steps)
    if keep.any():
        run.curves[role].append((steps[keep], values[keep]))


def _groups(names: Sequence[str | None]) -> Iterator[tuple[str | None, NDArray[np.intp]]]:
    """Each name with its rows, in the order of first appearance."""
    codes: dict[str | None, int] = {}
    numbers = np.fromiter((codes.setdefault(name, len(codes)) for name in names), dtype=np.int64, count=len(names))
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(len(codes) + 1))
    for name, code in codes.items():
        yield name, order[ends[code] : ends[code + 1]]
