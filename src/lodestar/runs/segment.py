"""One file of the store: some runs as one Parquet table, a row a run, curves as lists, the small columns first.

Comes in: `Run`s and the names of removed ones. Goes out: bytes, and back again, exactly (NaN and inf included). A
listing reads the small columns only. Pages carry checksums; the format's version is in the file's metadata; facts are
JSON. Knows nothing of folders, locks or which segment is newest: each row carries the time it was written.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lodestar._errors import RunError, StoreError
from lodestar._extras import need
from lodestar.runs.run import Direction, Facts, Run, Series, Status
from lodestar.runs.summary import RunSummary

VERSION = 1
CURVES = ("loss", "metric", "lr")
SMALL = (
    *("name", "written", "removed", "status", "direction", "metric_name", "total_steps", "last_step"),
    *("loss_points", "metric_points", "lr_points", "final_metric", "peak_lr", "facts", "notes"),
)


class Damaged(Exception):
    """A segment cannot be read: its text says why. The store turns it into a `StoreError`."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A run as a segment holds it: a summary, or `None` where the run was removed."""

    name: str
    written: int
    summary: RunSummary | None


def encode(runs: Sequence[Run], written: Mapping[str, int]) -> memoryview:
    """Parquet bytes: `runs` with the times they were written, and a removal for every other name in `written`."""
    pa, pq = need("pyarrow", "cli"), need("pyarrow.parquet", "cli")
    rows = [_small(run, written[run.name]) for run in runs]
    removed = written.keys() - {run.name for run in runs}
    rows += [{"name": _text(name), "written": written[name], "removed": True} for name in sorted(removed)]
    arrays = [pa.array([row.get(key) for row in rows], type=kind) for key, kind in _small_types(pa).items()]
    names = list(SMALL)
    for curve in CURVES:
        series: list[Series] = [getattr(run, curve) for run in runs] + [Series.empty()] * len(removed)
        arrays += [_lists(pa, [s.steps for s in series], np.int64), _lists(pa, [s.values for s in series], np.float64)]
        names += [f"{curve}_steps", curve]
    table = pa.table(arrays, names=names).replace_schema_metadata({"lodestar.store": str(VERSION)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=max(len(rows), 1), **_encoding())
    return memoryview(sink.getvalue())


def decode_small(source: Any) -> list[Row]:
    """The rows of a segment (a path or a buffer) without their curves."""
    table = _read(source, list(SMALL))
    return [Row(row["name"], row["written"], None if row["removed"] else _summary(row)) for row in table.to_pylist()]


def decode(data: bytes, keep: Iterable[str]) -> list[Run]:
    """The runs called one of `keep`, whole, in the segment's order."""
    wanted = set(keep)
    table = _read(need("pyarrow", "cli").BufferReader(data), None)
    small = table.select(list(SMALL)).to_pylist()
    picked = [i for i, row in enumerate(small) if row["name"] in wanted and not row["removed"]]
    columns = {key: table.column(key).combine_chunks() for curve in CURVES for key in (f"{curve}_steps", curve)}
    return [_run(_summary(small[i]), {key: column[i].values for key, column in columns.items()}) for i in picked]


def _read(source: Any, columns: list[str] | None) -> Any:
    pa, pq = need("pyarrow", "cli"), need("pyarrow.parquet", "cli")
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as file:
            check_version((file.metadata.metadata or {}).get(b"lodestar.store"))
            table = file.read(columns=columns, use_threads=False)
            table.validate(full=True)
            return table
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, KeyError) as error:
        raise Damaged(str(error).splitlines()[0].rstrip(".") or type(error).__name__) from error


def check_version(text: bytes | None) -> None:
    """Refuse what a newer Lodestar wrote; `Damaged` if it is no version at all."""
    if text is None:
        raise Damaged("it carries no Lodestar version, so it is not a run file of ours")
    if not text.isdigit():
        raise Damaged(f"its version is {text!r}, which is no number")
    if int(text) > VERSION:
        raise StoreError(
            f"this store was written by a newer Lodestar (format {int(text)}; this one reads up to {VERSION}). "
            "Fix: pip install --upgrade lodestar-lr"
        )


def _small(run: Run, written: int) -> dict[str, object]:
    row = {key: getattr(run, key) for key in ("total_steps", "last_step", "final_metric", "peak_lr")}
    for curve in CURVES:
        row[f"{curve}_points"] = len(getattr(run, curve))
    return row | {
        "name": _text(run.name),
        "written": written,
        "removed": False,
        "status": str(run.status),
        "direction": str(run.direction),
        "metric_name": _text(run.metric_name),
        "facts": _facts_text(run),
        "notes": [_text(note) for note in run.notes],
    }


def _summary(row: dict[str, Any]) -> RunSummary:
    try:
        stated = json.loads(row["facts"])
        kept = {"name", "metric_name", "total_steps", "last_step", "metric_points", "lr_points"}
        return RunSummary(
            **{key: row[key] for key in kept},
            status=Status(row["status"]),
            direction=Direction(row["direction"]),
            points=row["loss_points"],
            final_metric=math.nan if row["final_metric"] is None else row["final_metric"],
            peak_lr=math.nan if row["peak_lr"] is None else row["peak_lr"],
            facts=Facts(**stated),
            notes=tuple(row["notes"]),
        )
    except (TypeError, ValueError) as error:
        raise Damaged(f"the row of run {row.get('name')!r} makes no sense ({error})") from error


def _run(summary: RunSummary, curves: dict[str, Any]) -> Run:
    arrays = {key: values.to_numpy(zero_copy_only=False) for key, values in curves.items()}
    loss, metric, lr = (Series(arrays[f"{curve}_steps"], arrays[curve]) for curve in CURVES)
    return Run(
        name=summary.name,
        loss=loss,
        metric=metric,
        lr=lr,
        direction=summary.direction,
        status=summary.status,
        total_steps=summary.total_steps,
        metric_name=summary.metric_name,
        facts=summary.facts,
        notes=summary.notes,
    )


def _facts_text(run: Run) -> str:
    facts = {field.name: getattr(run.facts, field.name) for field in dataclasses.fields(Facts)}
    facts["extra"] = dict(facts["extra"])
    for key, value in [*facts.items(), *facts["extra"].items()]:
        if key != "extra" and not isinstance(value, str | int | float | bool | np.generic | None):
            raise RunError(
                f"run {run.name!r}, fact {key!r}: must be a text, a number or true/false, got {type(value).__name__}. "
                "Fix: turn it into text, or leave it out of Facts.extra"
            )
    return json.dumps(facts, default=lambda value: value.item())


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


def _small_types(pa: Any) -> dict[str, Any]:
    kinds = {"written": pa.int64(), "removed": pa.bool_(), "final_metric": pa.float64(), "peak_lr": pa.float64()}
    kinds |= {key: pa.int64() for key in SMALL if key.endswith(("_steps", "_step", "_points"))}
    kinds["notes"] = pa.list_(pa.string())
    return {key: kinds.get(key, pa.string()) for key in SMALL}


def _encoding() -> dict[str, Any]:
    """Steps grow evenly, so their differences pack to almost nothing; floats compress by byte."""
    return {
        "compression": "zstd",
        "use_dictionary": False,
        "write_statistics": False,
        "write_page_checksum": True,
        "column_encoding": {f"{c}_steps.list.element": "DELTA_BINARY_PACKED" for c in CURVES}
        | {f"{c}.list.element": "BYTE_STREAM_SPLIT" for c in CURVES},
    }
