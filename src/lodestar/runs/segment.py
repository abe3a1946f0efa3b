"""One file of the store: some runs as one Parquet table, a row a run, curves as lists; a listing in its footer.

What a listing shows stands as JSON in the file's metadata, so that listing reads the footer only. Each row carries the
time it was written: which segment is newest is not known here.
"""

import contextlib
import dataclasses
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lodestar._errors import MissingExtra, RunError, StoreError
from lodestar._extras import need, update_line
from lodestar._plain import from_json, shown, texts, whole
from lodestar.runs.note import Note, note_of_release_one
from lodestar.runs.run import Direction, Facts, Run, Series, Status
from lodestar.runs.summary import RunSummary

VERSION = 1
CURVES = ("loss", "metric", "lr")
SMALL = ("direction", "status", "total_steps", "last_step", "metric_name", "final_metric", "peak_lr", "notes")


class Damaged(Exception):
    """A segment cannot be read: its text says why. The store turns it into a `StoreError`."""


@dataclasses.dataclass(frozen=True)
class SegmentRow:
    """A run as a segment holds it: a summary, or `None` where the run was removed."""

    name: str
    written: int
    summary: RunSummary | None


def encode(runs: Sequence[Run], written: Mapping[str, int]) -> memoryview:
    """Parquet bytes: `runs` with the times they were written, and a removal for every other name in `written`."""
    pa, pq = need("pyarrow", "cli"), need("pyarrow.parquet", "cli")
    rows = [_listed(run, written[run.name]) for run in runs]
    removed = written.keys() - {run.name for run in runs}
    rows += [{"name": _text(name), "written": written[name], "removed": True} for name in sorted(removed)]
    columns = {"name": pa.array([run.name for run in runs], type=pa.string())}
    for curve in CURVES:
        columns[f"{curve}_steps"] = _lists(pa, [getattr(run, curve).steps for run in runs], np.int64)
        columns[curve] = _lists(pa, [getattr(run, curve).values for run in runs], np.float64)
    told = {"lodestar.store": str(VERSION), "lodestar.rows": json.dumps(rows, default=lambda value: value.item())}
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pq.ParquetWriter(sink, table.schema, **_encoding()) as writer:
        writer.write_table(table, row_group_size=max(len(runs), 1))
        writer.add_key_value_metadata(told)
    return memoryview(sink.getvalue())


def decode_listing(end: bytes) -> list[SegmentRow]:
    """The rows of a segment without their curves, from its footer."""
    with _damage_told(), need("pyarrow.parquet", "cli").ParquetFile(io.BytesIO(end)) as file:
        return [SegmentRow(_named(row), whole(row["written"], "written"), _summary(row)) for row in _rows(file)]


def footer(data: bytes | memoryview) -> bytes:
    """The end of a segment that tells how to read the rest: Parquet's own footer, with its length and mark."""
    return bytes(data[-footer_size(data) :])


def footer_size(end: bytes | memoryview) -> int:
    """How long the footer is, from the last bytes of a segment."""
    return int.from_bytes(end[-8:-4], "little") + 8


def decode(data: bytes, keep: Iterable[str]) -> Iterator[Run]:
    """The runs called one of `keep`, whole, in the segment's order."""
    wanted = set(keep)
    with _damage_told(), need("pyarrow.parquet", "cli").ParquetFile(io.BytesIO(data)) as file:
        rows = _rows(file)
        table = file.read(use_threads=False)
        columns = {key: table.column(key).combine_chunks() for curve in CURVES for key in (f"{curve}_steps", curve)}
    for number, row in enumerate(rows):
        if _named(row) not in wanted or row.get("removed"):
            continue
        with _damage_told():
            run = _run(row, {key: column[number].values for key, column in columns.items()})
        yield run


@contextlib.contextmanager
def _damage_told() -> Iterator[None]:
    """Whatever reading it raises, as damage; but a file that is gone, a newer store and a missing package are not."""
    try:
        yield
    except (FileNotFoundError, StoreError, MissingExtra, Damaged):
        raise
    except Exception as error:
        said = (str(error) if isinstance(error, ValueError | OSError | RunError) else repr(error)).splitlines()
        raise Damaged((said[0][:300].rstrip(".") if said else "") or type(error).__name__) from error


def _rows(file: Any) -> list[dict[str, Any]]:
    told = file.metadata.metadata or {}
    check_version(told.get(b"lodestar.store"))
    rows = from_json(told[b"lodestar.rows"])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("its list of runs is none")
    return rows


def check_version(text: bytes | None) -> None:
    """Refuse what a newer Lodestar wrote; `Damaged` if it is no version at all."""
    if text is None:
        raise Damaged("it carries no Lodestar version, so it is not a run file of ours")
    if not text.isdigit() or len(text) > 9:
        raise Damaged(f"its version is {text!r}, which is no number")
    if int(text) > VERSION:
        raise StoreError(
            f"this store was written by a newer Lodestar (format {int(text)}; this one reads up to {VERSION}). "
            f"Fix: {update_line()}"
        )


def _listed(run: Run, written: int) -> dict[str, object]:
    row = {key: getattr(run, key) for key in SMALL} | {"name": _text(run.name), "written": written}
    for text in (run.metric_name, *run.notes):
        _text(text)
    row["note_kinds"] = [note.kind for note in run.notes]
    return row | {"points": [len(getattr(run, curve)) for curve in CURVES], "facts": _facts(run)}


def _named(row: dict[str, Any]) -> str:
    if not isinstance(row["name"], str) or not row["name"]:
        raise ValueError(f"a run's name is {shown(row['name'])}")
    return row["name"]


def _summary(row: dict[str, Any]) -> RunSummary | None:
    if row.get("removed"):
        return None
    points, metric_points, lr_points = (whole(count, "points") for count in row["points"])
    for name in ("total_steps", "last_step"):
        whole(row[name], name)
    for name in ("final_metric", "peak_lr"):
        if not isinstance(row[name], int | float):
            raise ValueError(f"{name} is {shown(row[name])}")
    texts([row["metric_name"], *row["notes"]], "metric_name and notes")
    _check_facts(row["facts"])
    counts = {"points": points, "metric_points": metric_points, "lr_points": lr_points}
    kinds = {"status": Status(row["status"]), "direction": Direction(row["direction"])}
    notes = _notes(row["notes"], row.get("note_kinds"))
    plain: dict[str, Any] = {key: row[key] for key in ("name", *SMALL)}
    plain |= {**counts, **kinds, "facts": Facts(**row["facts"]), "notes": notes}
    return RunSummary(**plain)


def _check_facts(facts: Any) -> None:
    """Refuse what no `Facts` was: the fields are plain values, `extra` a table of them."""
    if not isinstance(facts, dict) or not isinstance(facts.get("extra"), dict):
        raise ValueError(f"the facts of a run are {shown(facts)}")
    for name, value in [*facts.items(), *facts["extra"].items()]:
        fine = isinstance(value, str | int | float | bool | None) and not (name == "peak_lr" and isinstance(value, str))
        if not fine and name != "extra":
            raise ValueError(f"the fact {name[:80]!r} of a run is {shown(value)}")


def _notes(sentences: list[str], kinds: list[str] | None) -> tuple[Note, ...]:
    """Notes with their kinds, which release one did not write."""
    if kinds is None:
        return tuple(map(note_of_release_one, sentences))
    return tuple(Note(text, kind) for text, kind in zip(sentences, texts(kinds, "note_kinds"), strict=True))


def _run(row: dict[str, Any], curves: dict[str, Any]) -> Run:
    summary = _summary(row)
    assert summary is not None
    arrays = {key: values.to_numpy(zero_copy_only=False) for key, values in curves.items()}
    loss, metric, lr = (Series(arrays[f"{curve}_steps"], arrays[curve]) for curve in CURVES)
    if (len(loss), len(metric), len(lr)) != (summary.points, summary.metric_points, summary.lr_points):
        raise ValueError(f"the curves of run {summary.name[:60]!r} are not as long as the list of runs says")
    same = ("name", "direction", "status", "total_steps", "metric_name", "facts", "notes")
    return Run(loss=loss, metric=metric, lr=lr, **{key: getattr(summary, key) for key in same})


def _facts(run: Run) -> dict[str, Any]:
    facts = {field.name: getattr(run.facts, field.name) for field in dataclasses.fields(Facts)}
    facts["extra"] = dict(facts["extra"])
    for key, value in [*facts.items(), *facts["extra"].items()]:
        if key != "extra" and not isinstance(value, str | int | float | bool | np.generic | None):
            raise RunError(
                f"run {run.name!r}, fact {key!r}: must be a text, a number or true/false, got {type(value).__name__}. "
                "Fix: turn it into text, or leave it out of Facts.extra"
            )
    return facts


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RunError(f"{text!r} is not valid Unicode, so no file can hold it. Fix: rename the run") from error
    return text


def _lists(pa: Any, parts: list[Any], dtype: type) -> Any:
    ends = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype, copy=False)
    return pa.LargeListArray.from_arrays(ends, pa.array(flat))


def _encoding() -> dict[str, Any]:
    """Steps grow evenly, so their differences pack to almost nothing; floats compress by byte."""
    return {
        "compression": "zstd",
        "use_dictionary": False,
        "write_statistics": False,
        "store_schema": False,
        "column_encoding": {f"{c}_steps.list.element": "DELTA_BINARY_PACKED" for c in CURVES}
        | {f"{c}.list.element": "BYTE_STREAM_SPLIT" for c in CURVES},
    }
