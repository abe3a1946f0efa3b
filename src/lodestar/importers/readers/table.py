"""Tables: CSV, TSV, JSON lines, JSON or Parquet files of runs, long or wide (a column for each run).

The guess is made from the names in all headers; then columns of facts are read to list the runs, and columns of numbers
to fetch them. The clock is the step column, or the number of the row.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from lodestar._errors import LodestarError, TableError
from lodestar.importers.choices import Choices
from lodestar.importers.reader import AbstractHeadedReader, Curves, ListedRun
from lodestar.importers.readers._folder import fingerprint
from lodestar.importers.readers._table_file import Frame
from lodestar.importers.readers._table_files import named_files, readable, table_files
from lodestar.importers.readers._table_json import JsonTable
from lodestar.importers.readers._table_rows import Rows, RunFacts, RunRows, rows_by_run
from lodestar.importers.readers._table_wide import WideColumn, split_wide
from lodestar.importers.roles import CURVES, FACTS, RoleGuess, guess_roles
from lodestar.runs.note import Note, NoteKind

LAYOUTS = ("auto", "long", "wide")
Columns = list[tuple[str, str]]
"""Quantities, each with its column."""
_FILES_AT_ONCE = 50
_ROW_NUMBERS = Note("steps are row numbers: the table has no step column", NoteKind.STEPS)


class TableReader(AbstractHeadedReader):
    """Files of runs. `run` and `status` name columns; `on_rows` is told (files read, files in all, rows read)."""

    kind: ClassVar[str] = "table"
    error: ClassVar[type[LodestarError]] = TableError
    names_are_keys: ClassVar[bool] = True
    threads: ClassVar[int] = 1

    def __init__(
        self,
        address: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        run: str | None = None,
        status: str | None = None,
        layout: str = "auto",
        on_rows: Callable[[int, int, int], None] | None = None,
    ):
        paths = [address] if isinstance(address, str | os.PathLike) else [*address]
        self._files = named_files(table_files(paths))
        if layout not in LAYOUTS:
            raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
        self._own, self._layout, self.on_rows = {"run": run, "status": status}, layout, on_rows
        self.address = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        self._guess: RoleGuess | None = None
        self._names: dict[Path, list[str]] = {}
        self._wide: dict[Path, tuple[WideColumn, ...]] = {}
        self._places: dict[str, dict[int, None]] = {}  # run -> numbers of the files it is in
        self._rows = 0
        self.oddities: list[tuple[str, Note]] = []

    def guess(self, choices: Choices) -> RoleGuess:
        names: dict[str, None] = {}
        facts: dict[str, None] = {}
        for file, _ in self._files:
            with readable(file.path):
                self._names[file.path], stated = file.names()
            names |= dict.fromkeys(self._logical(file.path))
            facts |= dict.fromkeys(stated)
        overrides = self._own | choices.stated(("step", *CURVES, "total", "schedule", "peak_lr", "seed"))
        if choices.task in names or choices.task in facts:
            overrides["task"] = choices.task
        layout = "wide" if self._wide else "long"
        self._guess = guess_roles(names, facts, overrides=overrides, direction=choices.direction, layout=layout)
        self.clock = self._guess["step"] or "row"
        self.bulk = _FILES_AT_ONCE if self._guess["run"] is None and not self._wide else sys.maxsize
        return self._guess

    def list(self) -> Iterator[ListedRun]:
        guess = self._guess or self.guess(Choices())
        columns = [column for role in FACTS if role != "run" and (column := guess[role])]
        runs: dict[str, RunFacts] = {}
        nameless = 0
        for number, (file, _) in enumerate(self._files):
            for name, quantities, frame, rows in self._facts_in(number, guess["run"], columns):
                if name is None:
                    nameless += len(rows)
                    continue
                self._places.setdefault(name, {})[number] = None
                run = runs.setdefault(name, RunFacts())
                run.files |= {file.path: None}
                run.quantities |= dict.fromkeys(quantities)
                run.add(frame, rows, columns, guess["status"])
        version = fingerprint(file.path for file, _ in self._files)
        counted = () if guess["step"] else (_ROW_NUMBERS,)
        for name, run in runs.items():
            yield ListedRun(
                key=name,
                name=name,
                version=version,
                quantities=tuple(run.quantities),
                config=run.config,
                state=run.state,
                place=run.place(),
                notes=(*run.notes(), *counted),
            )
        if nameless:
            yield ListedRun("", "(no name)", version, trouble=f"{nameless} rows name no run")

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        return self.fetch_many([run], quantities)[run.key]

    def fetch_many(self, runs: Sequence[ListedRun], quantities: Sequence[str]) -> Mapping[str, Curves]:
        """All files that hold one of these runs, read once."""
        guess = self._guess or self.guess(Choices())
        gathered = {run.key: RunRows(guess["step"]) for run in runs}
        for number in sorted({number for run in runs for number in self._places.get(run.key, ())}):
            for name, columns, frame, rows in self._values_in(number, guess, quantities):
                if name in gathered:
                    gathered[name].add(frame, rows, columns)
            file = self._files[number][0]
            self.oddities += [(file.path.name, note) for note in file.oddities]
        return {key: rows.curves() for key, rows in gathered.items()}

    def _facts_in(
        self, number: int, run: str | None, columns: Sequence[str]
    ) -> Iterator[tuple[str | None, Iterable[str], Frame, Rows]]:
        """The runs in a file: name, quantities, and the rows that state facts."""
        file, file_run = self._files[number]
        if file.path in self._wide:
            for column in self._wide[file.path]:
                yield column.run, [column.quantity], Frame({}, 0), np.arange(0)
            return
        names = self._names[file.path]
        texts = [column for column in ([run] if run else []) + [*columns] if column in names]
        # A table of one run that states no facts need not be read to be listed; a JSON file is in memory already.
        frames = file.frames([], texts) if texts or isinstance(file, JsonTable) else [Frame({}, 0)]
        with readable(file.path):
            for frame in frames:
                for name, rows in rows_by_run(frame, run, file_run):
                    yield name, names, frame, rows

    def _values_in(
        self, number: int, guess: RoleGuess, quantities: Sequence[str]
    ) -> Iterator[tuple[str | None, Columns, Frame, Rows]]:
        """The runs in a file: name, columns by quantity, and the rows with their values."""
        file, file_run = self._files[number]
        wide = self._columns_by_run(file.path, quantities)
        same = [(quantity, quantity) for quantity in quantities]
        step, run_column = guess["step"], guess["run"]
        numbers = {column for run in wide.values() for _, column in run} if wide else {*quantities}
        numbers |= {step} if step else set()
        texts = [run_column] if run_column and not wide else []
        with readable(file.path):
            for frame in file.frames(sorted(numbers), texts):
                if wide:
                    yield from ((run, columns, frame, np.arange(frame.rows)) for run, columns in wide.items())
                else:
                    parts = rows_by_run(frame, run_column, file_run)
                    yield from ((name, same, frame, rows) for name, rows in parts)
                self._rows += frame.rows
                if self.on_rows:
                    self.on_rows(number, len(self._files), self._rows)

    def _columns_by_run(self, path: Path, quantities: Sequence[str]) -> dict[str, Columns]:
        """In a wide file: each run's quantities with their columns."""
        runs: dict[str, Columns] = {}
        for column in self._wide.get(path, ()):
            if column.quantity in quantities:
                runs.setdefault(column.run, []).append((column.quantity, column.column))
        return runs

    def _logical(self, path: Path) -> Iterable[str]:
        """The names a guess is made from: in a wide table the quantities, not the columns."""
        names, columns = self._names[path], None
        if self._layout != "long" and self._own["run"] is None:
            columns = split_wide(names, least_runs=1 if self._layout == "wide" else 2)
        if columns is None:
            if self._layout == "wide":
                raise TableError(f"{path}: no columns such as 'run-1/loss' here. Fix: --layout long")
            return names
        self._wide[path] = columns
        inside = {column.column for column in columns}
        return [*(name for name in names if name not in inside), *(column.quantity for column in columns)]
