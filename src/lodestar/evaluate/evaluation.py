"""What an evaluation found: plain data, every figure of the paper's appendix on forecasts. Draws nothing.

Comes in: numbers from the other files here. Goes out: frozen dataclasses, and the same as versioned JSON. `report`
draws it, `cli` tabulates it; both read nothing else.
"""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lodestar import _disk
from lodestar.runs.few import caveat

FORMAT = "lodestar-evaluation"
VERSION = 1
OURS = "latent ODE"
KNOWN = "schedule known"

Scope = Literal["whole run", "still to come"]
Truth = Literal["smoothed", "raw"]


@dataclasses.dataclass(frozen=True)
class MeanStd:
    """Mean and standard deviation of a figure over the runs that have it. NaN where none has."""

    mean: float
    std: float
    runs: int

    @classmethod
    def of(cls, values: NDArray) -> "MeanStd":
        """Over an array with one value a run; NaN means the run has none."""
        fine = values[np.isfinite(values)]
        if len(fine) == 0:
            return cls(math.nan, math.nan, 0)
        return cls(float(fine.mean()), float(fine.std()), len(fine))


@dataclasses.dataclass(frozen=True)
class ByChannel:
    """The same figure for each of the three quantities."""

    loss: MeanStd
    metric: MeanStd
    lr: MeanStd

    @classmethod
    def of(cls, values: NDArray) -> "ByChannel":
        """From (runs, 3)."""
        return cls(*(MeanStd.of(values[:, channel]) for channel in range(3)))


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """Relative MSE of one forecaster after a fraction of each run was seen: a cell of the paper's table A1."""

    forecaster: str
    seen: float
    scope: Scope
    truth: Truth
    error: ByChannel


@dataclasses.dataclass(frozen=True)
class Ablation:
    """Relative MSE (whole run) against the fraction seen, for one forecaster and one way to solve its ODE."""

    forecaster: str
    solver: str
    tolerance: float | None
    seen: tuple[float, ...]
    error: tuple[ByChannel, ...]


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """Kept solver steps of one run: where each starts (fraction of the run), its size, evaluations when it ends."""

    run: str
    start: tuple[float, ...]
    size: tuple[float, ...]
    evaluations: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Stiffness:
    """How hard the latent ODE is to solve (the paper's stiffness figure)."""

    tolerance: float
    seen: float
    evaluations: MeanStd
    rejected: float  # share of the attempted steps that were thrown away
    own_solver: str
    own_evaluations: int | None  # what the forecaster's own fixed-step solver takes; None: it is adaptive
    trajectories: tuple[Trajectory, ...]


@dataclasses.dataclass(frozen=True)
class Drawn:
    """One forecast of one run in the user's units, with its interval; lists of a value a point, by channel."""

    seen: float
    level: float
    centre: dict[str, list[float]]
    lower: dict[str, list[float]]
    upper: dict[str, list[float]]


@dataclasses.dataclass(frozen=True)
class Example:
    """A run beside its forecasts (the paper's true-against-forecast figure). NaN where nothing was logged."""

    run: str
    why: str
    error: ByChannel
    steps: list[int]
    raw: dict[str, list[float]]
    smoothed: dict[str, list[float]]
    forecasts: tuple[Drawn, ...]


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Spearman correlation of forecast and true final metric, over the `runs` that have both; within tasks."""

    forecaster: str
    seen: float
    spearman: float
    spearman_raw: float  # against the last value as logged, which holds the noise of one measurement
    rmse: float
    runs: int = 0


@dataclasses.dataclass(frozen=True)
class Finals:
    """Forecast and true final metric of each run, for a scatter plot."""

    seen: float
    level: float
    runs: tuple[str, ...]
    forecast: list[float]
    lower: list[float]
    upper: list[float]
    true: list[float]


@dataclasses.dataclass(frozen=True)
class FinalScore:
    """How well one forecaster tells the final metric of runs that went to their end, with a share of each seen."""

    forecaster: str
    schedule: Literal["known", "unknown"]  # whether it was told the learning rate to the end
    seen: float  # 0: before the first step, which takes a known schedule
    spearman: float
    rmse: float
    level: float
    inside: float  # the share of finals inside the interval meant to hold `level` of them; NaN where it gives none
    runs: int


@dataclasses.dataclass(frozen=True)
class Selection:
    """The run a forecaster would pick as the best from its beginning alone, and how it really ended."""

    forecaster: str
    seen: float
    picked: str
    rank: int  # 1: it was the best
    runs: int
    final: float
    best: str
    best_final: float
    recipe_rank: int  # rank of its schedule and rate, by the mean final metric of their runs
    recipes: int


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Share of what was still to come that lay inside the interval meant to hold `level` of it."""

    level: float
    seen: float
    loss: float
    metric: float
    lr: float
    final_metric: float
    runs: int = 0  # that had anything still to come
    finals: int = 0  # whose last metric was still to come


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Everything `evaluate` found. `notes` are sentences a reader must know to judge the figures."""

    model: dict[str, Any]
    metric_name: str
    direction: str
    runs: tuple[str, ...]
    excluded: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    past_runs: int
    tasks: int
    accuracy: tuple[Accuracy, ...]
    ablation: tuple[Ablation, ...]
    stiffness: Stiffness
    examples: tuple[Example, ...]
    ranking: tuple[Ranking, ...]
    finals: tuple[Finals, ...]
    selection: tuple[Selection, ...]
    coverage: tuple[Coverage, ...]
    final_scores: tuple[FinalScore, ...] = ()

    @property
    def scored(self) -> tuple[str, ...]:
        """Who forecast final metrics: schedule known first, where that was possible."""
        return tuple(dict.fromkeys(row.forecaster for row in self.final_scores))

    def scores(self, seen: float) -> dict[str, FinalScore]:
        """Each forecaster's score with that share of a run seen."""
        return {row.forecaster: row for row in self.final_scores if row.seen == seen}

    @property
    def forecasters(self) -> tuple[str, ...]:
        """Ours first, then the simple ones."""
        return tuple(dict.fromkeys(row.forecaster for row in self.accuracy))

    @property
    def caution(self) -> str | None:
        """What must stand beside a rank correlation; None where there are runs enough."""
        ours = [row.runs for seen in self.fractions for row in self.ranks(seen) if row.forecaster == OURS]
        return caveat(min(ours, default=0), "the rank correlation")

    @property
    def differing(self) -> str | None:
        """Why some figures rest on fewer runs than were tested; None where all rest on every one."""
        counts = {part.runs for row in self.accuracy for part in (row.error.loss, row.error.metric, row.error.lr)}
        counts |= {row.runs for seen in self.fractions for row in self.ranks(seen)}
        counts |= {count for row in self.coverage for count in (row.runs, row.finals)}
        if counts <= {len(self.runs)}:
            return None
        return (
            f"n is how many of the {len(self.runs)} tested runs a figure rests on: one that had logged nothing by "
            "then, never logged that quantity, or had nothing of it still to come has no such figure."
        )

    def ranks(self, seen: float) -> tuple[Ranking, ...]:
        """How each forecaster ranks the runs, ours first, after a fraction of each was seen."""
        return tuple(row for row in self.ranking if row.seen == seen)

    @property
    def fractions(self) -> tuple[float, ...]:
        """How much of each run was shown, in the order asked for."""
        return tuple(dict.fromkeys(row.seen for row in self.accuracy))

    def error(self, forecaster: str, seen: float, scope: Scope = "whole run", truth: Truth = "smoothed") -> ByChannel:
        """One cell of the accuracy table."""
        for row in self.accuracy:
            if (row.forecaster, row.seen, row.scope, row.truth) == (forecaster, seen, scope, truth):
                return row.error
        raise KeyError(f"no accuracy of {forecaster!r} at {seen} ({scope}, {truth})")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN becomes None."""
        data = plain(dataclasses.asdict(self))
        data["aside"] = data.pop("excluded")  # what the file has called it since the first release
        return {"format": FORMAT, "version": VERSION, **data}

    def to_json(self) -> str:
        """The whole evaluation as one JSON document."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the JSON, whole or not at all."""
        _disk.write_whole(Path(path), self.to_json().encode())


def plain(data: Any) -> Any:
    """Tuples as lists, NaN and inf (which JSON lacks) as None."""
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
