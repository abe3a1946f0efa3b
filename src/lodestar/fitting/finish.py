"""From fitted weights to a forecaster: spread of latents, reference runs, ranges, intervals, quality.

Comes in: weights of all members, the prepared runs, the folds. Goes out: a `Forecaster`. Intervals and quality come
from runs that the member at hand never saw; where nothing was held out they are wide and empty, and say so.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lodestar.fitting.dataset import Prepared
from lodestar.fitting.folds import Fold
from lodestar.fitting.quality import relative_mse, spearman
from lodestar.forecaster.architecture import Architecture
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.forecaster import Forecaster, Ranges
from lodestar.forecaster.intervals import LEVELS, SEEN, TARGETS, Intervals, widened
from lodestar.forecaster.network import Network
from lodestar.forecaster.preprocessing.normaliser import LR, METRIC
from lodestar.forecaster.reference_runs import ReferenceRuns
from lodestar.runs.run import Direction

_REFERENCES = 32
_LOOKED_AT = 200  # most runs used for intervals, spread and quality
_WINDOW = 0.05
_LEAST_GOOD = 5  # runs that a table of good ones is made from


def finish(
    weights: Mapping[str, NDArray], shape: Architecture, data: Prepared, folds: Sequence[Fold], facts: Mapping[str, Any]
) -> Forecaster:
    """A forecaster from what the members learned."""
    bare = Forecaster(
        network=Network(shape, weights),
        recipe=data.recipe,
        spread=np.ones((len(folds), shape.latent)),
        references=ReferenceRuns((), np.zeros((0, 0, 3)), np.zeros((0, 0, 3), bool), np.zeros(0)),
        ranges=_ranges(data),
        intervals=Intervals.wide(),
        facts=facts,
        quality={},
    )
    spread = _spread(bare, data)
    references = _references(bare, data)
    apart = held_out(bare, data, folds)
    if len(apart[0].truth) == 0:
        return dataclasses.replace(bare, spread=spread, references=references)
    intervals, quality = measure_intervals(apart, data.recipe.direction), _quality(data, apart[1], apart[5])
    return dataclasses.replace(bare, spread=spread, references=references, intervals=intervals, quality=quality)


def contexts_of(data: Prepared, runs: Sequence[int] | NDArray[np.int64], low: float, high: float) -> list[Context]:
    """The same stretch of several runs."""
    points = data.recipe.points
    start = round(low * points)
    stop = max(start + 1, round(high * points))
    return [Context(data.values[run, start:stop], data.mask[run, start:stop], start) for run in runs]


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Forecasts of held-out runs by the members that never saw them, after a fraction of each run was seen."""

    forecast: NDArray[np.float64]  # (runs, points, 3), model units
    truth: NDArray[np.float64]
    mask: NDArray[np.bool_]
    disagreement: NDArray[np.float64]  # (runs, points, 3): spread over all members
    final: NDArray[np.float64]  # (runs,): the last metric as logged; NaN where a run was cut short

    @classmethod
    def of(cls, forecaster: Forecaster, data: Prepared, folds: Sequence[Fold], seen: float) -> "HeldOut":
        pairs = [(member, run) for member, fold in enumerate(folds) for run in fold.held_out][:_LOOKED_AT]
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


def _spread(forecaster: Forecaster, data: Prepared) -> NDArray[np.float64]:
    """Per member and dimension, the spread of latents of windows all over the training runs."""
    runs = np.arange(len(data))[:_LOOKED_AT]
    places = np.linspace(0.0, 1.0 - _WINDOW, 6)
    contexts = [context for low in places for context in contexts_of(data, runs, low, low + _WINDOW)]
    return np.maximum(forecaster.encode(*contexts).std(axis=1), 1e-6)


def _references(forecaster: Forecaster, data: Prepared) -> ReferenceRuns:
    """The best runs that went to the end, by the model's reading of their final metric."""
    whole = np.flatnonzero(data.mask[:, -1, LR])
    if len(whole) == 0:
        whole = np.arange(len(data))
    merit = np.concatenate(
        [_reading(forecaster, data, whole[start : start + 256]) for start in range(0, len(whole), 256)]
    )
    order = np.argsort(-merit if data.recipe.direction is Direction.MAX else merit, kind="stable")[:_REFERENCES]
    best = whole[order]
    return ReferenceRuns(tuple(data.names[i] for i in best), data.values[best], data.mask[best], merit[order])


def _reading(forecaster: Forecaster, data: Prepared, runs: NDArray[np.int64]) -> NDArray[np.float64]:
    latents = forecaster.encode(*contexts_of(data, runs, 0.0, 1.0))
    last = forecaster.network.decode(latents, np.ones(1))[:, :, 0, METRIC].mean(axis=0)
    return data.recipe.normaliser.metric.inverse(last)


def _ranges(data: Prepared) -> Ranges:
    low = np.full(data.values.shape[1:], np.inf)
    high = np.full(data.values.shape[1:], -np.inf)
    rate_low, rate_high = np.inf, 0.0
    for start in range(0, len(data), 256):
        values, mask = data.values[start : start + 256], data.mask[start : start + 256]
        low = np.minimum(low, np.where(mask, values, np.inf).min(axis=0))
        high = np.maximum(high, np.where(mask, values, -np.inf).max(axis=0))
        rates = data.recipe.normaliser.lr.inverse(values[..., LR][mask[..., LR]])
        # Rounding makes a rate of zero come back as something tiny: that is not a rate anybody used.
        used = rates[rates > 1e-9 * rates.max()]
        rate_low, rate_high = min(rate_low, float(used.min())), max(rate_high, float(used.max()))
    low, high = np.where(np.isfinite(low), low, -5.0), np.where(np.isfinite(high), high, 5.0)
    return Ranges(low, high, rate_low, rate_high)


def measure_intervals(apart: Sequence[HeldOut], direction: Direction) -> Intervals:
    """Quantiles of truth minus forecast in bins of (seen, target), widened a little for the few runs they come from.

    Each offset is divided by how much wider the interval will be where members disagree as they did there.
    """
    shape = (len(SEEN), len(TARGETS), 3)
    low, high, typical = np.zeros((len(LEVELS), *shape)), np.zeros((len(LEVELS), *shape)), np.zeros(shape)
    for row, part in enumerate(apart):
        points = part.truth.shape[1]
        bins = np.minimum(np.arange(points) * len(TARGETS) // points, len(TARGETS) - 1)
        for column in range(len(TARGETS)):
            for channel in range(3):
                chosen = bins == column
                fine = part.mask[:, chosen, channel]
                usual = part.disagreement[:, chosen, channel].mean()
                wider = widened(part.disagreement[:, chosen, channel], usual)
                off = ((part.truth - part.forecast)[:, chosen, channel] / wider)[fine]
                typical[row, column, channel] = usual
                for which, level in enumerate(LEVELS):
                    low[which, row, column, channel], high[which, row, column, channel] = _quantiles(
                        off, level, len(part.truth)
                    )
    return Intervals(low, high, typical, _good(apart, typical, direction))


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


def _quality(data: Prepared, early: HeldOut, half: HeldOut) -> dict[str, float | int]:
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
