"""Calibration: how far forecasts of runs a member never saw lay from the truth.

Comes in: a forecaster without intervals, the prepared runs, the folds. Goes out: its prediction intervals, and figures
of its quality. Both come from held-out runs alone.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lodestar.fitting.dataset import Prepared
from lodestar.fitting.folds import Fold
from lodestar.fitting.quality import relative_mse, spearman, spearman_within, std_within
from lodestar.forecaster.axes import RunMask, RunValues
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.intervals import LEVELS, SEEN, TARGETS, UNMEASURED, Intervals, widened
from lodestar.forecaster.misfit import HELD_OUT_UNLIKE, misfit, past_contexts, usual_misfit
from lodestar.forecaster.preprocessing.normaliser import CHANNELS, LR, METRIC
from lodestar.runs.run import Direction

MOST_RUNS = 200  # looked at for intervals, quality and the spread of latents
UNKNOWN = "(no task stated)"
UNLIKE_AT = 0.2  # of the run: one of `SEEN`, where a live job looks whether it is like the past runs
_LEAST_GOOD = 5  # runs that a table of good ones is made from
_LEAST_RUNS = 3  # that a bin is measured by, where others have as many; with fewer it is filled from its neighbours


def contexts_of(data: Prepared, runs: Sequence[int] | NDArray[np.int64], low: float, high: float) -> list[Context]:
    """The same stretch of several runs."""
    points = data.recipe.points
    start = round(low * points)
    stop = max(start + 1, round(high * points))
    return [Context(data.values[run, start:stop], data.mask[run, start:stop], start) for run in runs]


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Forecasts of held-out runs by the members that never saw them, after a fraction of each run was seen.

    Runs of which neither loss nor metric was logged by then are no part of it: a forecast from nothing is no forecast.
    """

    forecast: RunValues
    truth: RunValues
    mask: RunMask
    disagreement: RunValues  # spread over all members
    final: NDArray[np.float64]  # (runs,): the last metric as logged; NaN where a run was cut short
    workloads: tuple[str, ...] = ()  # task and size of each run

    @classmethod
    def of(cls, forecaster: Forecaster, data: Prepared, folds: Sequence[Fold], seen: float) -> "HeldOut":
        stop = max(1, round(seen * data.recipe.points))
        begun = np.any(data.mask[:, :stop, :LR], axis=(1, 2)).tolist()
        pairs = [(member, run) for member, fold in enumerate(folds) for run in fold.held_out if begun[run]][:MOST_RUNS]
        runs = np.array([run for _, run in pairs], dtype=np.int64)
        members = np.array([member for member, _ in pairs], dtype=np.int64)
        if len(runs) == 0:
            empty = np.zeros((0, data.recipe.points, 3))
            return cls(empty, empty, empty.astype(bool), empty, np.zeros(0))
        latents = forecaster.encode(*contexts_of(data, runs, 0.0, seen))
        raw = forecaster.network.decode(latents, forecaster.times)
        own = raw[members, np.arange(len(runs))]
        final = data.recipe.normaliser.metric.forward(data.finals[runs])
        workloads = tuple(data.workloads[run] for run in runs)
        return cls(own, data.values[runs], data.mask[runs], raw.std(axis=0), final, workloads)


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
        runs = np.stack([part.mask[:, bins == column].any(axis=1).sum(axis=0) for column in range(len(TARGETS))])
        enough = runs >= np.clip(runs.max(axis=0), 1, _LEAST_RUNS)
        for column, channel in itertools.product(range(len(TARGETS)), range(3)):
            here = (row, column, channel)
            off, typical[here] = _offsets(part, bins == column, channel)
            off = off[: len(off) if enough[column, channel] else 0]
            for which, level in enumerate(LEVELS):
                low[which, *here], high[which, *here] = _quantiles(off, level, len(part.truth))
    return Intervals(low, high, typical, _good(apart, typical, direction))


def measure_unlike(forecaster: Forecaster, part: HeldOut) -> dict[str, float]:
    """How badly the worst held-out run's beginning is forecast, in units of the usual past run."""
    stop = max(1, round(UNLIKE_AT * forecaster.points))
    begun = [run for run in range(len(part.truth)) if part.mask[run, :stop, :LR].any(axis=0).all()]
    off = [misfit(part.forecast[r, :stop], part.truth[r, :stop], part.mask[r, :stop], levels=True) for r in begun]
    worst = max(off, default=0.0) / usual_misfit(forecaster, past_contexts(forecaster, stop))
    return {HELD_OUT_UNLIKE: worst} if np.isfinite(worst) and worst > 0 else {}


def _offsets(part: HeldOut, chosen: NDArray[np.bool_], channel: int) -> tuple[NDArray[np.float64], float]:
    """Truth minus forecast at the chosen points, in widths; and how much the members disagree there."""
    disagreement = part.disagreement[:, chosen, channel]
    usual = float(disagreement.mean()) if disagreement.size else 0.0
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
        return -UNMEASURED, UNMEASURED
    share = min(1.0, level * (1.0 + 1.0 / runs))
    low, high = np.quantile(off, [0.5 - share / 2, 0.5 + share / 2])
    return min(float(low), 0.0), max(float(high), 0.0)


def measure_quality(data: Prepared, early: HeldOut, half: HeldOut) -> dict[str, Any]:
    """Figures after 5 % and 50 % of each run, each with the number of runs it rests on.

    Ranks are compared within tasks and sizes, then pooled; where several are mixed, those of each stand beside.
    """
    found: dict[str, Any] = {"held_out_runs": max(len(early.truth), len(half.truth))}
    alone: dict[str, dict[str, float | int]] = {}
    for label, part in (("05", early), ("50", half)):
        found[f"runs_{label}"] = len(part.truth)
        if len(part.truth):
            forecast, truth = (data.recipe.normaliser.inverse(each) for each in (part.forecast, part.truth))
            found |= _errors(forecast, truth, part, label)
            for name, figures in _ranks(forecast, truth, part, label).items():
                (alone.setdefault(name, {}) if name else found).update(figures)
    found["final_metric_std"] = std_within(data.final_metric(), data.workloads)
    found = {name: value for name, value in found.items() if np.isfinite(value)}
    return found | ({"workloads": alone} if alone else {})


def _errors(forecast: RunValues, truth: RunValues, part: HeldOut, label: str) -> dict[str, float]:
    errors = relative_mse(forecast, truth, part.mask)
    known = np.isfinite(errors)
    means = np.where(known, errors, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    return {f"relative_mse_{name}_{label}": float(mean) for name, mean in zip(CHANNELS, means, strict=True)}


def _ranks(forecast: RunValues, truth: RunValues, part: HeldOut, label: str) -> dict[str, dict[str, Any]]:
    """Rank correlation and error of final metrics: pooled, under no name; and of each workload where several are."""
    last = part.mask.shape[1] - 1 - np.argmax(part.mask[:, ::-1, METRIC], axis=1)
    rows = np.arange(len(last))
    made, true = forecast[rows, last, METRIC], truth[rows, last, METRIC]
    rank, runs = spearman_within(made, true, part.workloads)
    rmse = float(np.sqrt(np.mean((made - true) ** 2)))
    found = {"": {f"spearman_{label}": rank, f"spearman_runs_{label}": runs, f"final_metric_rmse_{label}": rmse}}
    names = list(dict.fromkeys(part.workloads))
    for name in names if len(names) > 1 else ():
        here = np.array([each == name for each in part.workloads])
        figure, count = spearman(made[here], true[here]), int(here.sum())
        found[name or UNKNOWN] = {f"runs_{label}": count}
        if np.isfinite(figure):
            found[name or UNKNOWN][f"spearman_{label}"] = figure
    return found
