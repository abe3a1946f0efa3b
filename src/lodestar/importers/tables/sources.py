"""Files of runs, read in pieces: CSV, TSV, JSON lines, JSON and Parquet behind one small interface.

Comes in: a path. Goes out: column names first (cheap), then `Frame`s of some thousand rows with the columns asked for.
Knows formats, not roles: what a column means is `columns.py`'s affair. A blank (null) stays apart from a NaN that was
written as a value, where the format tells them apart.
"""

import abc
import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import TableError
from lodestar._extras import need
from lodestar.runs.run import Scalar

BLANKS = ["", "NA", "N/A", "n/a", "null", "NULL", "None", "none", "-"]
_ROWS = 65_536


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

    def texts(self, name: str) -> list[str | None]:
        """A column as texts, None where blank."""
        if ("texts", name) not in self._done:
            self._done["texts", name] = self._texts(name)
        return self._done["texts", name]

    def _numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if name not in self.columns:
            return np.full(self.rows, np.nan), np.zeros(self.rows, bool)
        raw = self.columns[name]
        if isinstance(raw, list):
            values = [_number(name, value) for value in raw]
            return np.array([math.nan if v is None else v for v in values]), np.array([v is not None for v in values])
        logged = raw.is_valid().to_numpy(zero_copy_only=False)
        return raw.cast("float64").fill_null(math.nan).to_numpy(zero_copy_only=False), logged

    def _texts(self, name: str) -> list[str | None]:
        if name not in self.columns:
            return [None] * self.rows
        raw = self.columns[name]
        values = raw if isinstance(raw, list) else raw.to_pylist()
        return [None if value is None else str(value) for value in values]


class AbstractSource(abc.ABC):
    """One file."""

    def __init__(self, path: Path):
        self.path = path
        self.warnings: list[str] = []
        """Sentences on rows that could not be read and were left out."""

    @abc.abstractmethod
    def names(self) -> tuple[list[str], list[str]]:
        """Column names, and names of facts that are stated once for each run."""

    @abc.abstractmethod
    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        """The rows, with these columns where the file has them."""


class CsvSource(AbstractSource):
    """Separated by commas, semicolons or tabs, also compressed (.csv.gz); read a block at a time."""

    def names(self) -> tuple[list[str], list[str]]:
        """From the header line."""
        with self._open({}) as reader:
            names = list(reader.schema.names)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise TableError(f"{self.path}: two columns are called {twice[0]!r}. Fix: rename one of them")
        return names, []

    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        """Types are set, not inferred: a column may be blank for its first million rows."""
        known, _ = self.names()
        self.warnings.clear()
        types = dict.fromkeys(numbers, "float64") | dict.fromkeys(texts, "string")
        with self._open({name: kind for name, kind in types.items() if name in known}) as reader:
            for batch in reader:
                yield Frame(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)

    def _open(self, types: dict[str, str]) -> Any:
        pa, csv = need("pyarrow", "cli"), need("pyarrow.csv", "cli")
        kinds = {name: pa.type_for_alias(kind) for name, kind in types.items()}
        return csv.open_csv(
            str(self.path),
            parse_options=csv.ParseOptions(delimiter=self._delimiter(), invalid_row_handler=self._skip),
            convert_options=csv.ConvertOptions(
                column_types=kinds, include_columns=list(kinds), null_values=BLANKS, strings_can_be_null=True
            ),
        )

    def _delimiter(self) -> str:
        """The sign that occurs most often in the first line; a comma where none does."""
        with need("pyarrow", "cli").input_stream(str(self.path)) as stream:
            heading = stream.read(65_536).split(b"\n")[0]
        return max(",\t;", key=lambda sign: heading.count(sign.encode()))

    def _skip(self, row: Any) -> str:
        cells = f"{row.actual_columns} cells instead of {row.expected_columns}"
        self.warnings.append(f"a row has {cells} and was left out: {row.text[:60]!r}")
        return "skip"


class ParquetSource(AbstractSource):
    """Parquet, read a batch at a time, and only the columns asked for."""

    def names(self) -> tuple[list[str], list[str]]:
        """From the footer."""
        return list(need("pyarrow.parquet", "cli").read_schema(self.path).names), []

    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        """Numbers stay what they are; `Frame` casts them."""
        with need("pyarrow.parquet", "cli").ParquetFile(self.path) as file:
            wanted = [name for name in (*numbers, *texts) if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=_ROWS, columns=wanted):
                yield Frame(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)


class JsonLinesSource(AbstractSource):
    """One JSON object a line; keys may differ from line to line. Read twice: once for the keys, once for the rows."""

    def names(self) -> tuple[list[str], list[str]]:
        """Every key that occurs."""
        seen: dict[str, None] = {}
        for record in self._records():
            seen |= dict.fromkeys(record)
        return list(seen), []

    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        """Some thousand lines at a time."""
        wanted = [*numbers, *texts]
        part: list[dict[str, Any]] = []
        for record in self._records():
            part.append(record)
            if len(part) == _ROWS:
                yield _of_records(part, wanted)
                part = []
        if part:
            yield _of_records(part, wanted)

    def _records(self) -> Iterator[dict[str, Any]]:
        self.warnings.clear()
        with self.path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    yield flat(_parse(line, f"{self.path}, line {number}"))
                except TableError:
                    if line.endswith("\n"):
                        raise
                    # A job killed while it wrote leaves half a line at the end.
                    self.warnings.append(f"the last line ({number}) is cut off and was left out")


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise TableError(f"{where}: not JSON ({error}). Fix: one JSON object a line, or delete that line") from error
    if not isinstance(record, dict):
        raise TableError(f"{where}: expected an object {{...}}, got {type(record).__name__}. Fix: one object a line")
    return record


def flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects with dotted keys: {"opt": {"lr": 1}} becomes {"opt.lr": 1}. Lists are left out."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            found[f"{prefix}{key}"] = value
    return found


def _of_records(records: list[dict[str, Any]], wanted: list[str]) -> Frame:
    return Frame({name: [record.get(name) for record in records] for name in wanted}, len(records))


def _number(name: str, value: Any) -> float | None:
    if value is None or (isinstance(value, str) and value in BLANKS):
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TableError(
            f"column {name!r} holds {value!r}, which is no number. Fix: check which column is which"
        ) from error
