"""Tables: CSV, TSV, JSON lines, JSON or Parquet files of runs, long or wide (a column for each run).

The guess is made from the names in all headers; then columns of facts are read to list the runs, and columns of numbers
to fetch them. The clock is the step column, or the number of the row. Of several files, one that cannot be read is left
out with its runs, and the others go on.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import LodestarError, RunError, TableError
from lodestar.importers.choices import Choices
from lodestar.importers.reader import AbstractHeadedReader, Answer, Curves, ListedRun, about_one_run
from lodestar.importers.readers._folder import fingerprint
from lodestar.importers.readers._table_file import AbstractTableFile, Frame
from lodestar.importers.readers._table_files import named_files, readable, table_files
from lodestar.importers.readers._table_identity import FILE, RESUMED, Labels, by_name, together
from lodestar.importers.readers._table_json import JsonTable
from lodestar.importers.readers._table_rows import Rows, RunFacts, RunRows, rows_by_run
from lodestar.importers.readers._table_wide import WideColumn, split_wide
from lodestar.importers.roles import CURVES, FACTS, RoleGuess, guess_roles, is_curve, is_step, run_columns
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
        self._broken: dict[Path, LodestarError] = {}
        self._rows = 0
        self._prefix: Literal["", "column", "file"] = ""  # what a run's name says besides the values of its columns
        self.oddities: list[tuple[str, Note]] = []

    def guess(self, choices: Choices) -> RoleGuess:
        names: dict[str, None] = {}
        facts: dict[str, None] = {}
        for file, _ in self._files:
            with self._reading(file):
                self._names[file.path], stated = file.names()
                names |= dict.fromkeys(self._logical(file.path))
                facts |= dict.fromkeys(stated)
        overrides = self._own | choices.stated(("step", *CURVES, "total", "schedule", "peak_lr", "seed"))
        if choices.task in names or choices.task in facts:
            overrides["task"] = choices.task
        layout = "wide" if self._wide else "long"
        guess = guess_roles(names, facts, overrides=overrides, direction=choices.direction, layout=layout)
        self._guess = guess if self._wide or guess["step"] is None else self._told_apart(guess, list(names))
        self.clock = self._guess["step"] or "row"
        self.bulk = _FILES_AT_ONCE if self._guess["run"] is None and not self._wide else sys.maxsize
        return self._guess

    def _told_apart(self, guess: RoleGuess, names: Sequence[str]) -> RoleGuess:
        """The guess of the run, made good by the rows; what is merged, or was told apart, is said."""
        stated, step, loss = self._own["run"], guess["step"] or "", guess["loss"] or ""
        named = self._run_columns(guess) if stated else run_columns(names)
        if loss not in names or (stated and len(named) != 1):
            return guess
        labels = Labels(self._labelled(step, loss, named), step, loss, named)
        found, fine = by_name(labels, named)
        if not fine and not stated:
            taken = {step, *(guess[role] for role in CURVES)}
            others = [name for name in names if name not in taken and not is_step(name) and not is_curve(name)]
            labels = Labels(self._labelled(step, loss, others), step, loss, others)
            split = together(labels, found, [name for name in others if name not in found.columns])
            if split is not None:
                self._say(f"{split} (not {found})")
                self._prefix = "file" if FILE in split.columns else "column"
                columns = ",".join(name for name in split.columns if name != FILE)
                return guess.with_role("run", columns, f"told apart by its values: {split.runs} runs")
        if found.repeats > RESUMED:
            self._say(f"{found}: several runs may be merged into one. Fix: --run COLUMN, or --run COLUMN,COLUMN")
        if stated or found.columns[0] in (FILE, guess["run"]):
            return guess
        return guess.with_role("run", found.columns[0], f"it tells the runs apart ({guess['run']!r} does not)")

    def _say(self, sentence: str) -> None:
        self.oddities.append((Path(self.address).name, Note(f"runs were told by {sentence}", NoteKind.RUNS)))

    @contextlib.contextmanager
    def _reading(self, file: AbstractTableFile) -> Iterator[None]:
        """What goes wrong with a file is an error that names it; raised only where no file is left."""
        try:
            with about_one_run(), readable(file.path):
                yield
        except LodestarError as error:
            self._broken[file.path] = error
            if all(other.path in self._broken for other, _ in self._files):
                raise

    def _sound(self) -> Iterator[tuple[int, AbstractTableFile]]:
        return ((number, file) for number, (file, _) in enumerate(self._files) if file.path not in self._broken)

    def _trouble(self, run: str) -> LodestarError | None:
        """Why a run cannot be read: what is wrong with the first broken file it is in."""
        paths = (self._files[number][0].path for number in self._places.get(run, ()))
        return next((self._broken[path] for path in paths if path in self._broken), None)

    def _labelled(self, step: str, loss: str, columns: Sequence[str]) -> Iterator[tuple[str, Frame]]:
        for number, file in self._sound():
            with self._reading(file):
                for frame in file.frames([step], [loss, *columns]):
                    frame.numbers(step)
                    yield self._files[number][1], frame

    def _run_columns(self, guess: RoleGuess) -> Sequence[str]:
        column = guess["run"]
        if column is None or any(column in names for names in self._names.values()):
            return [column] if column else []
        return column.split(",")

    def list(self) -> Iterator[ListedRun]:
        guess = self._guess or self.guess(Choices())
        roles = {column for role in FACTS if role != "run" and (column := guess[role])}
        runs: dict[str, RunFacts] = {}
        nameless = 0
        for number, file in self._sound():
            with self._reading(file):
                for name, quantities, facts, frame, rows in self._facts_in(number, guess, roles):
                    if name is None:
                        nameless += len(rows)
                        continue
                    self._places.setdefault(name, {})[number] = None
                    run = runs.setdefault(name, RunFacts())
                    run.files |= {file.path: None}
                    run.quantities |= dict.fromkeys(quantities)
                    run.add(frame, rows, facts, roles, guess["status"])
        version = fingerprint(file.path for file, _ in self._files)
        counted = () if guess["step"] else (_ROW_NUMBERS,)
        for name, run in runs.items():
            yield ListedRun(
                key=name,
                name=name,
                version=version,
                quantities=tuple(run.quantities),
                config=run.facts(roles),
                state=run.state,
                trouble=str(self._trouble(name) or ""),
                place=run.place(),
                notes=(*run.notes(roles), *counted),
            )
        held = {path for run in runs.values() for path in run.files}
        for path, error in self._broken.items():
            if path not in held:
                yield ListedRun(str(path), path.name, version, trouble=str(error))
        if nameless:
            yield ListedRun("", "(no name)", version, trouble=f"{nameless} rows name no run")

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        answer = self.fetch_many([run], quantities)[run.key]
        if isinstance(answer, RunError):
            raise answer
        return answer

    def fetch_many(self, runs: Sequence[ListedRun], quantities: Sequence[str]) -> Mapping[str, Answer]:
        """All files that hold one of these runs, read once."""
        guess = self._guess or self.guess(Choices())
        gathered = {run.key: RunRows(guess["step"]) for run in runs}
        wanted = {number for run in runs for number in self._places.get(run.key, ())}
        for number, file in ((number, file) for number, file in self._sound() if number in wanted):
            with self._reading(file):
                for name, columns, frame, rows in self._values_in(number, guess, quantities):
                    if name in gathered:
                        gathered[name].add(frame, rows, columns)
            self.oddities += [(file.path.name, note) for note in file.oddities]
        return {
            key: RunError(str(error)) if (error := self._trouble(key)) else rows.curves()
            for key, rows in gathered.items()
        }

    def _facts_in(
        self, number: int, guess: RoleGuess, roles: Container[str]
    ) -> Iterator[tuple[str | None, Iterable[str], Iterable[str], Frame, Rows]]:
        """The runs in a file: name, quantities, columns that may be facts, and the rows that state them."""
        file, file_run = self._files[number]
        if file.path in self._wide:
            for column in self._wide[file.path]:
                yield column.run, [column.quantity], [], Frame({}, 0), np.arange(0)
            return
        names, run = self._names[file.path], self._run_columns(guess)
        curves = {guess[role] for role in ("step", *CURVES)}
        single = run[0] if len(run) == 1 and not self._prefix else None
        facts = [
            name for name in names if name in roles or (name not in curves and name != single and not is_step(name))
        ]
        # A table of one run that states no facts need not be read to be listed; a JSON file is in memory already.
        needed = run or any(not is_curve(name) for name in facts) or isinstance(file, JsonTable)
        for frame in file.frames([], names) if needed else [Frame({}, 0)]:
            logged = {name: frame.stated(name) for name in names if name in frame.columns}
            for name, rows in rows_by_run(frame, run, file_run, self._prefix):
                yield name, [each for each in names if not needed or _any(logged, each, rows)], facts, frame, rows

    def _values_in(
        self, number: int, guess: RoleGuess, quantities: Sequence[str]
    ) -> Iterator[tuple[str | None, Columns, Frame, Rows]]:
        """The runs in a file: name, columns by quantity, and the rows with their values."""
        file, file_run = self._files[number]
        wide = self._columns_by_run(file.path, quantities)
        same = [(quantity, quantity) for quantity in quantities]
        step, run = guess["step"], self._run_columns(guess)
        numbers = {column for run in wide.values() for _, column in run} if wide else {*quantities}
        numbers |= {step} if step else set()
        texts = [] if wide else run
        for frame in file.frames(sorted(numbers), texts):
            if wide:
                yield from ((name, columns, frame, np.arange(frame.rows)) for name, columns in wide.items())
            else:
                parts = rows_by_run(frame, run, file_run, self._prefix)
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


def _any(logged: Mapping[str, NDArray[np.bool_]], name: str, rows: Rows) -> bool:
    return name in logged and bool(logged[name][rows].any())
