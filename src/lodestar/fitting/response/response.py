"""Fits a response: from prepared runs to what any schedule would give.

Comes in: prepared runs. Goes out: a `Response`, and figures of its quality on runs it did not see; None where there are
too few finished runs. Law, features and posteriors are made anew for each fold, so that weights, intervals and quality
rest on runs that took no part; the dozen numbers of the kernels are shared.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from lodestar.fitting.dataset import Prepared
from lodestar.fitting.quality import spearman
from lodestar.fitting.response.blend import fit_mixture, latent_shares
from lodestar.fitting.response.cells import CellRuns, cell_runs
from lodestar.fitting.response.evidence import kernels, most_likely, posterior, spread_out
from lodestar.fitting.response.laws import fit_law
from lodestar.fitting.response.stands import fit_continuation, knot_cells
from lodestar.forecaster.intervals import LEVELS
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC, Channel
from lodestar.forecaster.preprocessing.recipe import Recipe
from lodestar.forecaster.preprocessing.transform import Kind
from lodestar.forecaster.response.channel import ChannelResponse, raw_inputs
from lodestar.forecaster.response.history import CELLS, Clock
from lodestar.forecaster.response.law import Law
from lodestar.forecaster.response.mixture import SHARES, WAYS, Mixture
from lodestar.forecaster.response.neighbours import Neighbours
from lodestar.forecaster.response.response import Response

LEAST_RUNS = 3  # finished ones
_TIMES = np.unique(np.concatenate([np.round(np.geomspace(3, CELLS, 10)) - 1, [74, 84, 91, 96]])).astype(np.int64)
_MOST_RUNS = 400  # learned from
_ENOUGH_RUNS = 48  # for the numbers of the kernels
_INDUCING = 192
_ENOUGH_INDUCING = 64  # for the numbers of the kernels
_ROUNDS = 12  # of the search: it begins at the prior, and few runs hardly move it
_FOLDS = 8
_MARGIN = 0.75  # of the range of finals: how far beyond all past runs a forecast may go

Numbers = tuple[NDArray[np.float64], NDArray[np.float64]]  # of loss and metric


@threadpool_limits.wrap(limits=1, user_api="blas")  # its products are small: 24 runs, 4 s; by two threads 15 s
def fit_response(
    data: Prepared, *, seed: int, latent: NDArray[np.float64] | None = None
) -> tuple[Response, dict[str, float | int]] | None:
    """The response of these runs, and its quality.

    `latent` (shares, runs): finals by the latent ODE of runs held out from it, NaN for the others.
    """
    chosen = _some(len(data), _MOST_RUNS, seed)
    runs = cell_runs(data, chosen)
    if int(runs.whole.sum()) < LEAST_RUNS:
        return None
    learn = runs.pick(_some(len(runs), _ENOUGH_RUNS, seed))
    numbers = (_numbers(learn, data.recipe, LOSS), _numbers(learn, data.recipe, METRIC))
    ways, variances = _held_out(runs, data.recipe, numbers, seed)
    truth = runs.stands[runs.whole, -1, METRIC]
    mixture = fit_mixture(ways, variances, truth)
    if latent is not None:
        centre = np.einsum("kw,kwr->kr", mixture.weights, ways)
        shares = latent_shares(centre, latent[:, chosen[runs.whole]], truth, len(data))
        mixture = dataclasses.replace(mixture, latent=shares)
    return _response(runs, data.recipe, numbers, mixture), _quality(data, mixture, ways, truth)


def _some(count: int, most: int, seed: int) -> NDArray[np.int64]:
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def _numbers(runs: CellRuns, recipe: Recipe, channel: int) -> NDArray[np.float64]:
    clock = Clock.of(runs.rates)
    points, values, known, inducing, *_ = _examples(runs, recipe, clock, channel)
    return most_likely(points, values, known, (_TIMES + 1.0) / CELLS, inducing[:_ENOUGH_INDUCING], _ROUNDS)


def _response(runs: CellRuns, recipe: Recipe, numbers: Numbers, mixture: Mixture) -> Response:
    """A response with these kernels."""
    clock = Clock.of(runs.rates)
    loss, metric = (_channel(runs, recipe, clock, channel, numbers[channel]) for channel in (LOSS, METRIC))
    whole = runs.pick(np.flatnonzero(runs.whole))
    continuation = fit_continuation(metric.law, clock, whole)
    return Response(clock, loss, metric, continuation, Neighbours.of(whole.rates, whole.stands), mixture)


def _channel(
    runs: CellRuns, recipe: Recipe, clock: Clock, channel: int, numbers: NDArray[np.float64]
) -> ChannelResponse:
    points, values, known, inducing, law, mean, std, centre, scale = _examples(runs, recipe, clock, channel)
    kernel, run = kernels(numbers)
    found = posterior(kernel, run, points, values, known, (_TIMES + 1.0) / CELLS, inducing)
    ends = runs.stands[runs.whole, -1, channel] if runs.whole.any() else runs.stands[:, -1, channel]
    margin = _MARGIN * float(np.ptp(ends)) + 0.02
    return ChannelResponse(
        law, mean, std, centre, scale, found, run, float(ends.min()) - margin, float(ends.max()) + margin
    )


def _examples(runs: CellRuns, recipe: Recipe, clock: Clock, channel: int):
    """Standardised features and values of every run at some times, the inducing points, the law, and the units."""
    known, values = runs.known[:, _TIMES, channel], runs.stands[:, _TIMES, channel]
    law = _law(runs, recipe.normaliser.channels[channel], clock, values, known)
    raw = raw_inputs(law, clock, runs.rates, _TIMES)
    mean, std = raw[known].mean(axis=0), raw[known].std(axis=0) + 1e-3
    centre, scale = float(values[known].mean()), float(values[known].std()) + 1e-9
    points = (raw - mean) / std
    inducing = spread_out(points[known], _INDUCING)
    return points, np.where(known, (values - centre) / scale, 0.0), known, inducing, law, mean, std, centre, scale


def _law(runs: CellRuns, units: Channel, clock: Clock, values: NDArray, known: NDArray) -> Law | None:
    """The law of a channel whose distance from the best possible value is known; None for any other metric."""
    raw = values * units.std + units.mean
    if units.transform.kind is Kind.IDENTITY:
        return None
    level = np.exp(np.clip(raw if units.transform.kind is Kind.LOG else -raw, -50.0, 50.0))
    return fit_law(clock, runs.rates, _TIMES, level, known)


def _undecided() -> Mixture:
    return Mixture(np.full((len(SHARES), len(WAYS)), 1.0 / len(WAYS)), np.ones((len(LEVELS), len(SHARES))))


def _held_out(
    runs: CellRuns, recipe: Recipe, numbers: Numbers, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Finals of finished runs by each way, from responses that never saw them: (shares, ways, runs), and variances."""
    whole = np.flatnonzero(runs.whole)
    fold = np.random.default_rng(seed).permutation(len(whole)) % min(len(whole), _FOLDS)
    ways, variances = np.zeros((len(SHARES), len(WAYS), len(whole))), np.zeros((len(SHARES), len(whole)))
    for number in range(int(fold.max()) + 1):
        out = np.flatnonzero(fold == number)
        learned = np.setdiff1d(np.arange(len(runs)), whole[out])
        part = _response(runs.pick(learned), recipe, numbers, _undecided())
        for place, run in ((place, run) for run in out for place in range(len(SHARES))):
            seen = None if place == 0 else runs.observed(int(whole[run]), knot_cells()[place - 1])
            made, variance, _ = part.ways(runs.rates[whole[run]][None], seen)
            ways[place, :, run], variances[place, run] = made[:, 0], variance[0]
    return ways, variances


def _quality(data: Prepared, mixture: Mixture, ways: NDArray, truth: NDArray) -> dict[str, float | int]:
    """Rank correlation and error of the final metric, schedule known, with nothing and with half of the run seen."""
    back = data.recipe.normaliser.metric.inverse
    found: dict[str, float | int] = {"response_runs": len(truth)}
    for label, place in (("00", 0), ("50", int(np.flatnonzero(SHARES == 0.5)[0]))):
        forecast = back(mixture.weights[place] @ ways[place])
        found[f"response_spearman_{label}"] = spearman(forecast, back(truth))
        found[f"response_rmse_{label}"] = float(np.sqrt(np.mean((forecast - back(truth)) ** 2)))
    return {name: value for name, value in found.items() if np.isfinite(value)}
