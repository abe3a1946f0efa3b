"""A tracker that keeps its runs in memory and counts what is asked of it: for tests of what all trackers share."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from lodestar._errors import RunError, TrackerError
from lodestar.importers.reader import AbstractReader, ListedRun, LoggedCurve

Curves = Mapping[str, Any]
"""Each quantity as a mapping step -> value, or as (step, value) pairs in the order of logging."""


class Shelf(AbstractReader):
    """Runs on a shelf. `broken` keys raise a `RunError`; after `cut_after` fetches the line is dead."""

    kind = "shelf"
    threads = 2

    def __init__(self, address: str = "the shelf", *, clock: str = "step"):
        self.address = address
        self.clock = clock
        self.runs: dict[str, ListedRun] = {}
        self.curves: dict[str, Curves] = {}
        self.fetched: list[str] = []
        self.broken: set[str] = set()
        self.cut_after: int | None = None

    def put(self, key: str, curves: Curves, *, name: str | None = None, version: str = "1", **facts) -> None:
        """Put a run on the shelf, or change it."""
        self.runs[key] = ListedRun(key, name or key, version, tuple(curves), **facts)
        self.curves[key] = curves

    def change(self, key: str, **facts) -> None:
        """Change what the listing says."""
        self.runs[key] = dataclasses.replace(self.runs[key], **facts)

    def list(self):
        yield from list(self.runs.values())

    def fetch(self, run, quantities):
        if self.cut_after is not None and len(self.fetched) >= self.cut_after:
            raise TrackerError("the line is dead. Fix: try again")
        self.fetched.append(run.key)
        if run.key in self.broken:
            raise RunError(f"run {run.key!r} is torn. Fix: none")
        found = {}
        for name in quantities:
            if name in self.curves[run.key]:
                points = self.curves[run.key][name]
                pairs = list(points.items()) if isinstance(points, Mapping) else points
                found[name] = LoggedCurve.of(pairs)
        return found


def curves(points: int = 10, *, loss: str = "loss", metric: str = "val_acc", lr: str | None = "lr") -> Curves:
    """Ordinary curves at steps 1, 2, ..."""
    steps = range(1, points + 1)
    found = {loss: {s: 1 / s for s in steps}, metric: {s: 1 - 1 / s for s in steps}}
    return found | ({lr: dict.fromkeys(steps, 0.1)} if lr else {})
