"""Calibration: how far forecasts of runs a member never saw lay from the truth.

Comes in: a forecaster without intervals, the prepared runs, the folds. Goes out: its prediction intervals, and figures
of its quality. Both come from held-out runs alone.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lodestar.fitting.dataset import Prepared
from lodestar.fitting.folds import Fold
from lodestar.fitting.quality import relative_mse, spearman
from lodestar.forecaster.axes import RunMask, RunValues
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.intervals import LEVELS, SEEN, TARGETS, Intervals, widened
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.runs.run import Direction

MOST_RUNS = 200  # looked at for intervals, quality and the spread of latents
_LEAST_GOOD = 5  # runs that a table of good ones is made from


def contexts_of(data: Prepared, runs: Sequence[int] | NDArray[np.int64], low: float, high: float) -> list[Context]:
    """The same stretch of several runs."""
    points = data.recipe.points
    start = round(low * points)
    stop = max(start + 1, round(high * points))
    return [Context(data.values[run, start:stop], data.mask[run, start:stop], start) for run in runs]


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Forecasts of held-out runs by the members that never saw them, after a fraction of each run was seen."""

    forecast: RunValues
    truth: RunValues
    mask: RunMask
    disagreement: RunValues  # spread over all members
    final: NDArray[np.float64]  # (runs,): the last metric as logged; NaN where a run was cut short

    @classmethod
    def of(cls, forecaster: Forecaster, data: Prepared, folds: Sequence[Fold], seen: float) -> "HeldOut":
        pairs = [(member, run) for member, fold in enumerate(folds) for run in fold.held_out][:MOST_RUNS]
        runs = np.array([run for _, run in pairs], dtype=np.int64)
        members = np.array([member for member, _ in pairs], dtype=np.int64)
        if len(runs) == 0:
            empty = np.zeros((0, data.recipe.points, 3))
            return cls(empty, empty, empty.astype(bool), empty, np.zeros(0))
        latents = forecaster.encode(*contexts_of(data, runs, 0.0, seen))
        raw = forecaster.network.decode(latents, forecaster.times)
        own = raw[members, np.arange(len(runs))]
        final = data.recipe.normaliser.metric.forward(data.finals[runs])
        return cls(own, data.values[runs], data.mask[runs], raw.std(axis=0), final)


def held_out(forecaster: Forecaster, data: Prepared, folds: Sequence[Fold]) -> list[HeldOut]:
    """Forecasts of the held-out runs after each fraction that intervals are measured at."""
    return [HeldOut.of(forecaster, data, folds, seen) for seen in SEEN]


def measure_intervals(apart: Sequence[HeldOut], direction: Direction) -> Intervals:
    """Quantiles of truth minus forecast in bins of (seen, target), widened a little for the few runs they come from.

    Each offset is divided by how much wider the interval will be where members disagree as they did there.
    """
    shape = (len(SEEN), len(TARGETS), 3)
    low, high, typical = np.zeros((len(LEVELS), *shape)), np.zeros((len(LEVELS), *shape)), np.zeros(shape)
    for row, part in enumerate(apart):
        points = part.truth.shape[1]
        bins = np.minimum(np.arange(points) * len(TARGETS) // points, len(TARGETS) - 1)
        for column, channel in itertools.product(range(len(TARGETS)), range(3)):
            here = (row, column, channel)
            off, typical[here] = _offsets(part, bins == column, channel)
            for which, level in enumerate(LEVELS):
                low[which, *here], high[which, *here] = _quantiles(off, level, len(part.truth))
    return Intervals(low, high, typical, _good(apart, typical, direction))


def _offsets(part: HeldOut, chosen: NDArray[np.bool_], channel: int) -> tuple[NDArray[np.float64], float]:
    """Truth minus forecast at the chosen points, in widths; and how much the members disagree there."""
    disagreement = part.disagreement[:, chosen, channel]
    usual = float(disagreement.mean())
    off = (part.truth - part.forecast)[:, chosen, channel] / widened(disagreement, usual)
    return off[part.mask[:, chosen, channel]], usual


def _good(apart: Sequence[HeldOut], typical: NDArray, direction: Direction) -> NDArray[np.float64] | None:
    """The same of final metrics as logged, noise and all, among the runs forecast to end in the better half.

    (2, levels, seen). From so few runs a spread is better known than quantiles: intervals are even, by Student's t.
    """
    found = np.zeros((2, len(LEVELS), len(SEEN)))
    for row, part in enumerate(apart):
        known = np.flatnonzero(np.isfinite(part.final))
        half = len(known) // 2
        if half < _LEAST_GOOD:
            return None
        sign = -1.0 if direction is Direction.MAX else 1.0
        ends = part.forecast[known, -1, METRIC]
        better = known[np.argsort(sign * ends, kind="stable")[:half]]
        wider = widened(part.disagreement[better, -1, METRIC], typical[row, -1, METRIC])
        off = (part.final[better] - part.forecast[better, -1, METRIC]) / wider
        width = np.sqrt(np.mean(off**2)) * stats.t.ppf(0.5 + np.array(LEVELS) / 2, half)
        found[:, :, row] = -width, width
    return found


def _quantiles(off: NDArray, level: float, runs: int) -> tuple[float, float]:
    if off.size == 0:
        return -2.0, 2.0
    share = min(1.0, level * (1.0 + 1.0 / runs))
    low, high = np.quantile(off, [0.5 - share / 2, 0.5 + share / 2])
    return min(float(low), 0.0), max(float(high), 0.0)


def measure_quality(data: Prepared, early: HeldOut, half: HeldOut) -> dict[str, float | int]:
    found: dict[str, float | int] = {"held_out_runs": len(early.truth)}
    back = data.recipe.normaliser.inverse
    for label, part in (("05", early), ("50", half)):
        forecast, truth = back(part.forecast), back(part.truth)
        errors = relative_mse(forecast, truth, part.mask)
        for channel, name in enumerate(("loss", "metric", "lr")):
            found[f"relative_mse_{name}_{label}"] = float(np.nanmean(errors[:, channel]))
        last = part.mask.shape[1] - 1 - np.argmax(part.mask[:, ::-1, METRIC], axis=1)
        rows = np.arange(len(last))
        finals = forecast[rows, last, METRIC], truth[rows, last, METRIC]
        found[f"spearman_{label}"] = spearman(*finals)
        found[f"final_metric_rmse_{label}"] = float(np.sqrt(np.mean((finals[0] - finals[1]) ** 2)))
    found["final_metric_std"] = float(np.std(data.final_metric()))
    return {name: value for name, value in found.items() if np.isfinite(value)}
