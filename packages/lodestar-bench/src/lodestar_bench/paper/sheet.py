"""A table of data that lies beside the figures drawn from it: named columns of one length, as CSV or Parquet.

Comes in: columns of numbers or words. Goes out: the bytes of a file, and from these the same columns again. Few rows
make a CSV that a person reads, many a Parquet file. A number that is missing is NaN. Knows nothing of what they mean.
"""

import dataclasses
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

MOST_LINES = 1500
"""Rows up to which a sheet is a CSV."""
_KINDS = {"i": "int", "u": "int", "b": "int", "f": "float", "U": "text", "O": "text"}


@dataclasses.dataclass(frozen=True)
class Sheet:
    """`columns` are arrays of numbers (int or float) or of words, all of one length; `name` is the file's stem."""

    name: str
    columns: Mapping[str, NDArray[Any]]

    def __post_init__(self):
        sizes = {key: len(values) for key, values in self.columns.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"sheet {self.name!r}: columns must be of one length, got {sizes}. Fix: see what fills it")

    @classmethod
    def of(cls, name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> "Sheet":
        """From rows. A column that holds a word is words; None in a column of numbers is NaN."""
        found = list(rows)
        columns = [[row[place] for row in found] for place in range(len(heads))]
        return cls(name, {head: _array(values) for head, values in zip(heads, columns, strict=True)})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row by column."""
        listed = {key: values.tolist() for key, values in self.columns.items()}
        return (dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True))

    def where(self, **wanted: object) -> "Sheet":
        """The rows in which each named column has that value."""
        kept = np.ones(len(self), dtype=bool)
        for column, value in wanted.items():
            kept &= self.columns[column] == value
        return Sheet(self.name, {key: values[kept] for key, values in self.columns.items()})

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.csv" if len(self) <= MOST_LINES else f"{self.name}.parquet"

    def kinds(self) -> dict[str, str]:
        """What each column holds: int, float or text. Needed to read it back."""
        return {key: _KINDS[values.dtype.kind] for key, values in self.columns.items()}

    def to_bytes(self) -> bytes:
        """The file."""
        sink = io.BytesIO()
        table = pa.table({key: pa.array(values.tolist()) for key, values in self.columns.items()})
        if self.file.endswith(".csv"):
            csv.write_csv(table, sink, csv.WriteOptions(quoting_style="needed"))
        else:
            parquet.write_table(table, sink, compression="zstd")
        return sink.getvalue()


def read_sheet(name: str, file: str, kinds: Mapping[str, str], data: bytes) -> Sheet:
    """The sheet that `to_bytes` wrote."""
    types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    if file.endswith(".csv"):
        convert = csv.ConvertOptions(column_types={key: types[kind] for key, kind in kinds.items()})
        table = csv.read_csv(io.BytesIO(data), convert_options=convert)
    else:
        table = parquet.read_table(io.BytesIO(data))
    return Sheet(name, {key: _array(table[key].to_pylist()) for key in kinds})


def _array(values: list[Any]) -> NDArray[Any]:
    if any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else str(value) for value in values], dtype=object)
    return np.array([np.nan if value is None else value for value in values])
