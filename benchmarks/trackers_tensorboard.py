"""1,000,000 TensorBoard scalars into a store: the bar is 20 s.

Comes in: nothing. Goes out: seconds to list, to fetch, and to import them all, from 10 runs x 4 tags x 25,000 steps;
and how many times as long TensorBoard's own reader takes to hand out the same scalars (processor time of both).
The event files are framed by hand (TensorBoard's own writer takes two minutes for as many), and a few records of them
are compared with what TensorBoard's writer makes of the same event.
"""

import json
import struct
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.importers import import_runs
from lodestar.importers.readers._record_file import crc_of_rows
from lodestar.importers.readers.tensorboard import TensorboardReader
from lodestar.runs import RunStore

TAGS = ("train/loss", "val/accuracy", "lr", "grad_norm")
"""Those of an ordinary job."""


def run(*, runs: int = 10, steps: int = 25_000) -> dict[str, Any]:
    """Write, list, fetch, import."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        for number in range(runs):
            write(logs / f"run-{number}", steps)
        found = {"scalars": runs * steps * len(TAGS), "bar_s": 20, **_read(logs), **_compared(logs)}
        began = time.monotonic()
        report = import_runs(TensorboardReader(logs), RunStore(Path(folder) / "store"))
        found |= {"import_s": time.monotonic() - began, "imported": len(report.imported)}
        began = time.monotonic()
        import_runs(TensorboardReader(logs), RunStore(Path(folder) / "store"))
        return found | {"second_import_s": time.monotonic() - began, "met": found["import_s"] < 20}


def _read(logs: Path) -> dict[str, Any]:
    began = time.monotonic()
    tracker = TensorboardReader(logs)
    listed = [*tracker.list()]
    listing = time.monotonic() - began
    began = time.monotonic()
    points = sum(len(one.steps) for run in listed for one in tracker.fetch(run, TAGS).values())
    return {"list_s": listing, "fetch_s": time.monotonic() - began, "fetched": points}


def _compared(logs: Path) -> dict[str, Any]:
    """Our reader and TensorBoard's, each handing out every scalar."""
    began = time.process_time()
    reader = TensorboardReader(logs)
    ours = sum(len(curve) for run in reader.list() for curve in reader.fetch(run, TAGS).values())
    our_seconds = time.process_time() - began
    began = time.process_time()
    theirs = sum(map(_accumulated, sorted(logs.iterdir())))
    their_seconds = time.process_time() - began
    if ours != theirs:
        raise AssertionError(f"we read {ours} scalars, TensorBoard {theirs}")
    return {
        "reader_cpu_s": our_seconds,
        "tensorboards_own_cpu_s": their_seconds,
        "times_as_quick": their_seconds / our_seconds,
    }


def _accumulated(folder: Path) -> int:
    """Every scalar of a folder, read as TensorBoard reads it."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    whole = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})  # 0: keep all
    whole.Reload()
    tensors = whole.Tags()["tensors"]  # newer versions turn scalars into these
    return sum(len(whole.Tensors(tag)) for tag in tensors) + sum(
        len(whole.Scalars(tag)) for tag in whole.Tags()["scalars"] if tag not in tensors
    )


def write(folder: Path, steps: int) -> None:
    """An event file as torch's SummaryWriter leaves it: one scalar an event."""
    folder.mkdir(parents=True)
    data = [event(0.0, 0, version=True)]
    for step in range(1, steps + 1):
        values = (2.0 / (1 + step) ** 0.3, 1 - 1 / (1 + step) ** 0.2, 1e-3, 1.0 + step % 7)
        data += [event(float(step), step, tag, value) for tag, value in zip(TAGS, values, strict=True)]
    (folder / "events.out.tfevents.1700000000.host.1.0").write_bytes(framed(data))


def event(wall: float, step: int, tag: str = "", value: float = 0.0, *, version: bool = False) -> bytes:
    """One event: wall time, step, and a summary of one simple value."""
    start = b"\x09" + struct.pack("<d", wall) + (b"\x10" + _varint(step) if step else b"")
    if version:
        return start + b"\x1a\x0dbrain.Event:2"
    inner = b"\x0a" + _varint(len(tag)) + tag.encode() + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + _varint(len(inner)) + inner
    return start + b"\x2a" + _varint(len(summary)) + summary


def framed(records: list[bytes]) -> bytes:
    """TFRecord framing of many records; those of one length get their checksums together."""
    lengths = [struct.pack("<Q", len(record)) for record in records]
    heads, tails = _checksums(lengths), _checksums(records)
    return b"".join(
        part
        for length, head, record, tail in zip(lengths, heads, records, tails, strict=True)
        for part in (length, head, record, tail)
    )


def _checksums(records: list[bytes]) -> list[bytes]:
    found = [b""] * len(records)
    by_length: dict[int, list[int]] = {}
    for place, record in enumerate(records):
        by_length.setdefault(len(record), []).append(place)
    for length, places in by_length.items():
        rows = np.frombuffer(b"".join(records[place] for place in places), np.uint8).reshape(-1, length)
        for place, crc in zip(places, crc_of_rows(rows).tolist(), strict=True):
            found[place] = struct.pack("<I", crc)
    return found


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
