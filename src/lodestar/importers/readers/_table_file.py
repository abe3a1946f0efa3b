"""Files of runs, read in pieces: CSV, TSV, JSON lines, JSON and Parquet behind one small interface.

A blank (null) stays apart from a NaN that was written as a value, where the format tells them apart.
"""

import abc
import dataclasses
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import TableError
from lodestar._extras import need
from lodestar.importers.readers._csv_file import header, open_csv
from lodestar.importers.readers._settings_file import leaves
from lodestar.runs.note import Note, NoteKind
from lodestar.runs.run import Scalar

BLANKS = ["", "NA", "N/A", "n/a", "null", "NULL", "None", "none", "-"]
_ROWS = 65_536
_HELD_CELLS = 2_000_000  # 65 MB


@dataclasses.dataclass(frozen=True)
class Frame:
    """Some rows of one file. `run` names them where the file itself does; `facts` hold for all of them."""

    columns: Mapping[str, Any]
    rows: int
    run: str | None = None
    facts: Mapping[str, Scalar] = dataclasses.field(default_factory=dict)
    _done: dict[tuple[str, str], Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """A column as floats, and where it was logged at all (not blank)."""
        if ("numbers", name) not in self._done:
            self._done["numbers", name] = self._numbers(name)
        return self._done["numbers", name]

    def codes(self, name: str) -> tuple[NDArray[np.int64], list[str]]:
        """A column of texts as numbers into a list of the different ones, -1 where blank."""
        if ("codes", name) not in self._done:
            self._done["codes", name] = self._codes(name)
        return self._done["codes", name]

    def stated(self, name: str) -> NDArray[np.bool_]:
        """Where a column is not blank."""
        raw = self.columns[name]
        if isinstance(raw, list):
            return np.array([value is not None and value not in BLANKS for value in raw], bool)
        return raw.is_valid().to_numpy(zero_copy_only=False)

    def differs(self, name: str, rows: NDArray[np.intp]) -> bool:
        """Whether the first and the last of some rows plainly differ: dearer ways to tell are then spared."""
        if not len(rows):
            return False
        first, last = (self.columns[name][int(row)] for row in (rows[0], rows[-1]))
        if not isinstance(self.columns[name], list):
            first, last = first.as_py(), last.as_py()
        return first != last and all(value is not None and str(value) not in BLANKS for value in (first, last))

    def _numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if name not in self.columns:
            return np.full(self.rows, np.nan), np.zeros(self.rows, bool)
        raw = self.columns[name]
        if isinstance(raw, list):
            values = [_number(name, value) for value in raw]
            return np.array([math.nan if v is None else v for v in values]), np.array([v is not None for v in values])
        logged = raw.is_valid().to_numpy(zero_copy_only=False)
        return raw.cast("float64").fill_null(math.nan).to_numpy(zero_copy_only=False), logged

    def _codes(self, name: str) -> tuple[NDArray[np.int64], list[str]]:
        raw = self.columns[name]
        if not isinstance(raw, list):
            encoded = raw.dictionary_encode()
            codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
            return codes, [str(value) for value in encoded.dictionary.to_pylist()]
        known: dict[str, int] = {}
        each = (-1 if value is None else known.setdefault(str(value), len(known)) for value in raw)
        return np.fromiter(each, np.int64, len(raw)), list(known)


class AbstractTableFile(abc.ABC):
    def __init__(self, path: Path):
        self.path = path
        self.oddities: list[Note] = []
        """On rows that could not be read and were left out."""

    @abc.abstractmethod
    def names(self) -> tuple[list[str], list[str]]:
        """Column names, and names of facts that are stated once for each run."""

    @abc.abstractmethod
    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        """The rows, with these columns where the file has them."""

    def note_left_out(self, sentence: str) -> None:
        self.oddities.append(Note(sentence, NoteKind.LEFT_OUT))


class CsvTable(AbstractTableFile):
    """Separated by commas, semicolons or tabs, also compressed (.csv.gz); read a block at a time."""

    _names: Sequence[str] = ()

    def names(self) -> tuple[list[str], list[str]]:
        self._names = names = header(self.path)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise TableError(f"{self.path}: two columns are called {twice[0]!r}. Fix: rename one of them")
        return names, []

    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        known = self._names or self.names()[0]
        self.oddities.clear()
        types = dict.fromkeys(numbers, "float64") | dict.fromkeys(texts, "string")
        with open_csv(self.path, {n: kind for n, kind in types.items() if n in known}, BLANKS, self._skip) as reader:
            for batch in reader:
                yield Frame(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)

    def _skip(self, row: Any) -> str:
        cells = f"{row.actual_columns} cells instead of {row.expected_columns}"
        self.note_left_out(f"a row has {cells} and was left out: {row.text[:60]!r}")
        return "skip"


class ParquetTable(AbstractTableFile):
    """Parquet, read a batch at a time, and only the columns asked for."""

    def names(self) -> tuple[list[str], list[str]]:
        return list(need("pyarrow.parquet", "cli").read_schema(self.path).names), []

    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        """Numbers stay what they are; `Frame` casts them."""
        with need("pyarrow.parquet", "cli").ParquetFile(self.path) as file:
            wanted = [name for name in (*numbers, *texts) if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=_ROWS, columns=wanted):
                yield Frame(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)


class JsonLinesTable(AbstractTableFile):
    """One JSON object a line; keys may differ from line to line. What is not too large is read once and held."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._held: Frame | None = None

    def names(self) -> tuple[list[str], list[str]]:
        columns: dict[str, list[Any]] = {}
        rows, held = 0, True
        for rows, record in enumerate(self._records(), 1):
            for key, value in record.items():
                column = columns.setdefault(key, [])
                if held:
                    column += [None] * (rows - 1 - len(column))
                    column.append(value)
            if held and rows * len(columns) > _HELD_CELLS:
                held, columns = False, {key: [] for key in columns}
        if held:
            self._held = Frame(
                {key: [*column, *[None] * (rows - len(column))] for key, column in columns.items()}, rows
            )
        return list(columns), []

    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        if self._held is not None:
            yield self._held
            return
        wanted = [*numbers, *texts]
        records = self._records()
        while part := [*itertools.islice(records, _ROWS)]:
            yield Frame({name: [record.get(name) for record in part] for name in wanted}, len(part))

    def _records(self) -> Iterator[dict[str, Any]]:
        self.oddities.clear()
        with self.path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    yield _parse(line, f"{self.path}, line {number}")
                except TableError:
                    if line.endswith("\n"):
                        raise
                    # A job killed while it wrote leaves half a line at the end.
                    self.note_left_out(f"the last line ({number}) is cut off and was left out")


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
        flat = flat_record(record) if isinstance(record, dict) else None
    except (ValueError, RecursionError) as error:
        raise TableError(f"{where}: not JSON ({error}). Fix: one JSON object a line, or delete that line") from error
    if flat is None:
        raise TableError(f"{where}: expected an object {{...}}, got {type(record).__name__}. Fix: one object a line")
    return flat


def flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Nested objects with dotted keys: {"opt": {"lr": 1}} becomes {"opt.lr": 1}. Lists are left out."""
    return {name: value for name, value in leaves(record) if not isinstance(value, list)}


def _number(name: str, value: Any) -> float | None:
    if value is None or (isinstance(value, str) and value in BLANKS):
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TableError(
            f"column {name!r} holds {value!r}, which is no number. Fix: check which column is which"
        ) from error
