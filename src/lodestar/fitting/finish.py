"""From fitted weights to a forecaster: spread of latents, reference runs, ranges, intervals, quality.

Comes in: weights of all members, the prepared runs, the folds. Goes out: a `Forecaster`. Where nothing was held out,
its intervals are wide and its quality is empty.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.fitting.calibration import (
    MOST_RUNS,
    UNLIKE_AT,
    contexts_of,
    held_out,
    measure_intervals,
    measure_quality,
    measure_unlike,
)
from lodestar.fitting.dataset import Prepared
from lodestar.fitting.folds import Fold
from lodestar.forecaster.architecture import Architecture
from lodestar.forecaster.forecaster import Forecaster, Ranges
from lodestar.forecaster.intervals import SEEN, Intervals
from lodestar.forecaster.network import Network
from lodestar.forecaster.preprocessing.normaliser import LR, METRIC
from lodestar.forecaster.reference_runs import ReferenceRuns
from lodestar.runs.run import Direction

_REFERENCES = 32  # runs a forecaster carries along
_WINDOW = 0.05  # of a run: what a live job encodes


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
    if len(apart[-1].truth) == 0:
        return dataclasses.replace(bare, spread=spread, references=references)
    intervals, quality = measure_intervals(apart, data.recipe.direction), measure_quality(data, apart[1], apart[5])
    early = int(np.searchsorted(SEEN, UNLIKE_AT))
    quality |= measure_unlike(dataclasses.replace(bare, references=references), apart[early])
    return dataclasses.replace(bare, spread=spread, references=references, intervals=intervals, quality=quality)


def _spread(forecaster: Forecaster, data: Prepared) -> NDArray[np.float64]:
    """Per member and dimension, the spread of latents of windows all over the training runs."""
    runs = np.arange(len(data))[:MOST_RUNS]
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
