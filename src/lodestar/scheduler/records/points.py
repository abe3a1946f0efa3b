"""What a job measured, point by point, in a file beside its decision log: for those who watch it.

Comes in: (step, loss, metric, lr). Goes out: records of 24 bytes behind a first one that names format and version;
NaN where nothing was measured. They are written together, once a second at most, so that a kill costs a second of a
drawing and nothing else. Each record carries the job's number: two jobs on one log stay apart. A record with a negative
step says that the job goes on after step -1 - step: what it had measured later is measured again. Writing never raises.
"""

import math
import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar import _disk

FORMAT = b"lodestar-points\0"
VERSION = 1
RECORD = np.dtype([("step", "<i8"), ("loss", "<f4"), ("metric", "<f4"), ("lr", "<f4"), ("job", "<u4")])
_HEAD = FORMAT + np.array([VERSION, RECORD.itemsize], "<u4").tobytes()
EVERY = 1.0  # seconds between two writes
_MOST = 3e38  # what 32 bits hold


def points_path(log: Path) -> Path:
    """The file beside a log that holds its points."""
    return log.with_name(f"{log.stem}.points")


class PointsWriter:
    """Keeps points and appends them to a file."""

    def __init__(self):
        self._waiting: list[tuple[int, float, float, float]] = []
        self._next = 0.0
        self.begin(0)

    def begin(self, after: int) -> None:
        """The job begins, or goes on, after this step; what waited was of before."""
        self._waiting = [(-1 - after, math.nan, math.nan, math.nan)]

    def add(self, step: int, loss: float | None, metric: float | None, lr: float) -> bool:
        """Keep a point; whether it is time to write."""
        self._waiting.append((step, math.nan if loss is None else loss, math.nan if metric is None else metric, lr))
        return time.monotonic() >= self._next

    def flush(self, log: Path, job: str | None) -> str | None:
        """Write what waits beside `log`; what went wrong, in a sentence. What could not be written is let go."""
        self._next = time.monotonic() + EVERY
        if len(self._waiting) < 2 and self._waiting[:1] and self._waiting[0][0] < 0:
            return None
        waiting, self._waiting = self._waiting, []
        rows = np.clip(np.array([row[1:] for row in waiting], np.float64).reshape(-1, 3), -_MOST, _MOST)
        found = np.empty(len(waiting), RECORD)
        found["step"] = [row[0] for row in waiting]
        found["loss"], found["metric"], found["lr"] = rows.T
        found["job"] = _number(job)
        path = points_path(log)
        try:
            _append(path, found.tobytes())
        except OSError as error:
            return f"the points of the run could not be written to {path}, training goes on: {error}"
        return None


def read_points(log: Path, job: str | None, last: int | None = None) -> NDArray[np.void]:
    """The points of a job in the order of their steps, or those of the `last` records; empty where there are none."""
    path = points_path(log)
    try:
        with path.open("rb") as stream:
            if stream.read(len(_HEAD)) != _HEAD:
                return np.empty(0, RECORD)
            if last is not None:
                whole = (stream.seek(0, os.SEEK_END) - len(_HEAD)) // RECORD.itemsize
                stream.seek(len(_HEAD) + max(whole - last, 0) * RECORD.itemsize)
            data = stream.read()
    except OSError:
        return np.empty(0, RECORD)
    found = np.frombuffer(data, RECORD, count=len(data) // RECORD.itemsize)
    found = found[found["job"] == _number(job)]
    turns = np.flatnonzero(found["step"] < 0)
    if len(turns) > 1:
        keep = np.ones(len(found), bool)
        for turn in turns:
            keep[:turn] &= found["step"][:turn] <= -1 - found["step"][turn]
        found = found[keep]
    found = found[found["step"] >= 0]
    steps = found["step"]
    return found if bool(np.all(steps[1:] >= steps[:-1])) else found[np.argsort(steps, kind="stable")]


def _append(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as stream:
        size = stream.seek(0, os.SEEK_END)
        torn = (size - len(_HEAD)) % RECORD.itemsize if size >= len(_HEAD) else size
        if torn:  # a kill left half a record
            stream.truncate(size := size - torn)
        _disk.append_whole(stream, size, data if size else _HEAD + data)


def _number(job: str | None) -> int:
    try:
        return int(job or "", 16) & 0xFFFFFFFF
    except (TypeError, ValueError):
        return 0
