"""What is known of a trial of Ray Tune: curves from its reports, and those of a trial that ended before a restart."""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from lodestar.integrations._trial_run import Planned, run_from
from lodestar.runs import Direction, Run

_RESULTS = "result.json"  # Ray's own log of a trial: a report a line


@dataclasses.dataclass
class Followed:
    """A trial, as plain data. `whole`: it ended, and was not stopped on the way by us."""

    name: str
    metric: dict[int, float] = dataclasses.field(default_factory=dict)
    loss: dict[int, float] = dataclasses.field(default_factory=dict)
    lr: dict[int, float] = dataclasses.field(default_factory=dict)
    total: int | None = None
    planned: Planned | None = None
    judged: float = 0.0
    ended: bool = False
    whole: bool = False

    @classmethod
    def of(cls, heard: Mapping[str, Any]) -> "Followed":
        """From JSON, which knows no numbers as keys."""
        curves = {name: {int(step): value for step, value in heard[name].items()} for name in ("metric", "loss", "lr")}
        return cls(**{**heard, **curves})

    def plan(self, total: int | None, planned: Planned | None) -> None:
        """What its config says of length and schedule."""
        self.total, self.planned = total, planned

    def take(self, result: Mapping[str, Any], metric: str | None, time_attr: str, loss: str, lr: str) -> int | None:
        """Keep a report; its step, or None if it has no metric. What was reported from there on before is forgotten."""
        step, value = _number(result.get(time_attr)), _number(result.get(metric)) if metric else None
        if step is None or value is None or not math.isfinite(step):
            return None
        at = int(step)
        given = {"metric": value, "loss": _number(result.get(loss)), "lr": _number(result.get(lr))}
        for name, number in given.items():
            curve = getattr(self, name)
            if curve and at <= next(reversed(curve)):  # back at an earlier checkpoint
                curve = {before: kept for before, kept in curve.items() if before < at}
            if number is not None:
                curve = curve if curve is getattr(self, name) else dict(curve)
                curve[at] = number
            setattr(self, name, curve)
        return at

    def run(self, direction: Direction, length: int | None) -> Run | None:
        """As a run; None if it has no value that is a number."""
        if not np.isfinite(list(self.metric.values())).any() and len(self.metric) < 3:
            return None
        total = length if self.total is None else self.total
        return run_from(
            self.name,
            self.metric,
            direction=direction,
            complete=self.whole,
            loss=self.loss,
            lr=self.lr,
            total=total,
            planned=self.planned,
        )


def past_results(trial: Any, reason_file: str) -> tuple[list[dict[str, Any]], str | None]:
    """The reports of a trial from before, and why it was stopped, from its folder in the search's storage."""
    lines = (_read(trial, _RESULTS) or "").splitlines()
    said = _read(trial, reason_file)
    return [json.loads(line) for line in lines], None if said is None else json.loads(said)["reason"]


def _read(trial: Any, name: str) -> str | None:
    try:
        path = str(PurePosixPath(trial.storage.trial_fs_path, name))
        with trial.storage.storage_filesystem.open_input_stream(path) as file:
            return file.read().decode()
    except (OSError, AttributeError):  # no such file, or a trial without a storage
        return None


def _number(value: Any) -> float | None:
    """A plain number, also from arrays of one; None where it is none."""
    try:
        return None if value is None or isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return None
