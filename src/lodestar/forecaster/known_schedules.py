"""Forecasts of known schedules: what a learning rate that is known to the end would give.

Comes in: rates over the whole run in the user's units, and what was seen of the run. Goes out: forecasts with
intervals, in the user's units. With part of a run seen, all schedules continue that run: their past is what it did.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import ForecasterError
from lodestar.forecaster.forecast import Context, Forecast, Interval
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LOSS, LR, METRIC
from lodestar.forecaster.response.history import CELLS, on_cells
from lodestar.forecaster.response.response import Finals, Observed, Response
from lodestar.runs.run import Direction

_DRAWN = 34  # cells at which a curve is computed; between them it is drawn
_NODES, _WEIGHTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0  # Gauss and Hermite


@dataclasses.dataclass(frozen=True)
class Judged:
    """Final metrics (schedules,), in the user's units; `doubt` is how unsure the model is of each, beside luck.

    `merit` orders schedules: the forecast less one doubt, in model units, larger is better.
    """

    centre: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    doubt: NDArray[np.float64]
    merit: NDArray[np.float64]

    def best(self, count: int = 1) -> NDArray[np.int64]:
        """Places of the best, best first."""
        return np.argsort(-self.merit, kind="stable")[:count]

    def at(self, places: NDArray[np.int64]) -> "Judged":
        """What was found of some schedules alone."""
        return Judged(*(getattr(self, field.name)[places] for field in dataclasses.fields(self)))


def response_of(forecaster: Forecaster) -> Response:
    """The part that knows schedules, or an error that says how to get one."""
    if forecaster.response is None:
        raise ForecasterError(
            "this forecaster cannot forecast known schedules: it was fitted by an older Lodestar, with preset='paper', "
            "or to fewer than 3 finished runs. Fix: lodestar fit RUNS -o forecaster.lodestar"
        )
    return forecaster.response


def judge(
    forecaster: Forecaster, rates: NDArray[np.float64], context: Context | None = None, level: float = 0.8
) -> Judged:
    """The final metric under each of some schedules (n, any length): an equal part of the run for each entry."""
    response = response_of(forecaster)
    cells, observed = _continued(forecaster, rates, context)
    finals = _finals(forecaster, response, cells, observed, context)
    width = response.mixture.width(observed.share if observed else 0.0, level) * finals.deviation
    back = forecaster.recipe.normaliser.metric.shown
    ends = np.sort(np.stack([back(finals.centre - width), back(finals.centre + width)]), axis=0)
    # A metric to be minimised has a transform that grows with it; one to be maximised grows with merit.
    merit = (finals.centre if forecaster.direction is Direction.MAX else -finals.centre) - finals.doubt
    doubt = np.abs(back(finals.centre + finals.doubt) - back(finals.centre))
    return Judged(back(finals.centre), ends[0], ends[1], doubt, merit)


def _latent(
    forecaster: Forecaster, response: Response, cells: NDArray[np.float64], context: Context | None
) -> NDArray[np.float64] | None:
    """The finals by the latent ODE, where the mixture asks for them."""
    if not forecaster.reads_schedules or not response.mixture.latent.any():
        return None
    return forecaster.known_finals(cells, *([] if context is None else [context])).mean(axis=0)


def _finals(
    forecaster: Forecaster,
    response: Response,
    cells: NDArray[np.float64],
    observed: Observed | None,
    context: Context | None,
) -> Finals:
    """Finals of a job's rates, averaged over what the law over sizes leaves open about them.

    Rates that are too high cost more than rates that are too low, so the average is best a little below the rate that
    would be best if the law were sure: the less sure, the lower.
    """
    if forecaster.rate_doubt == 0 and forecaster.level_doubt == 0:
        latent = _latent(forecaster, response, cells, context)
        return response.finals(cells * forecaster.rate_factor, observed, latent)
    parts = [
        response.finals(
            cells * forecaster.rate_factor * factor,
            observed,
            _latent(forecaster, response, cells * factor, context),
        )
        for factor in np.exp(forecaster.rate_doubt * _NODES)
    ]
    centre = np.einsum("k,ks->s", _WEIGHTS, [part.centre for part in parts])
    apart = np.einsum("k,ks->s", _WEIGHTS, [(part.centre - centre) ** 2 for part in parts])
    deviation, doubt = (
        np.sqrt(apart + np.einsum("k,ks->s", _WEIGHTS, [getattr(part, name) ** 2 for part in parts]))
        for name in ("deviation", "doubt")
    )
    deviation = np.hypot(deviation, _level_doubt(forecaster, centre) * (1.0 - (observed.share if observed else 0.0)))
    return Finals(centre, deviation, doubt, np.einsum("k,kws->ws", _WEIGHTS, [part.ways for part in parts]))


def _level_doubt(forecaster: Forecaster, centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """One deviation, in model units, for not knowing how much further a job of this size comes. The same for all."""
    if forecaster.law is None:
        return np.zeros(len(centre))
    units = forecaster.recipe.normaliser.metric
    return forecaster.level_doubt * np.abs(centre - (forecaster.law.starts[METRIC] - units.mean) / units.std)


def _wider(
    forecaster: Forecaster,
    response: Response,
    cells: NDArray[np.float64],
    observed: Observed | None,
    context: Context | None,
    latent: NDArray[np.float64] | None,
) -> float:
    """How much wider the interval at the end is for what the law over sizes leaves open."""
    if forecaster.rate_doubt == 0 and forecaster.level_doubt == 0:
        return 1.0
    open_ended = _finals(forecaster, response, cells, observed, context).deviation[0]
    return float(open_ended / response.finals(cells * forecaster.rate_factor, observed, latent).deviation[0])


def what_if(
    forecaster: Forecaster, rates: NDArray[np.float64], context: Context | None = None, level: float = 0.8
) -> Forecast:
    """The whole run under one schedule (length,), with what was seen of it as it was measured."""
    response = response_of(forecaster)
    cells, observed = _continued(forecaster, rates[None], context)
    first = observed.cell + 1 if observed else 0
    at = np.unique(np.linspace(min(first + 1, CELLS - 1), CELLS - 1, _DRAWN).round().astype(np.int64))
    latent = _latent(forecaster, response, cells, context)
    mean, deviation = response.curves(cells * forecaster.rate_factor, observed, at, latent)
    deviation *= _wider(forecaster, response, cells, observed, context, latent)
    width = response.mixture.width(observed.share if observed else 0.0, level)
    stop = context.stop if context else 0
    ends = (at + 1) / CELLS
    values = np.stack(
        [_drawn(forecaster, ends, mean[0], context), _drawn(forecaster, ends, width * deviation[0], None)]
    )
    values[1, :stop] = 0.0
    normal = forecaster.recipe.normaliser
    loss, metric = (_interval(normal.channels[channel], values[..., channel]) for channel in (LOSS, METRIC))
    lr = np.interp(forecaster.times, (np.arange(CELLS) + 0.5) / CELLS, cells[0])
    return Forecast(forecaster.times, loss, metric, Interval(lr, lr, lr), level, (0, stop))


def _continued(
    forecaster: Forecaster, rates: NDArray[np.float64], context: Context | None
) -> tuple[NDArray[np.float64], Observed | None]:
    """Schedules on cells, their past replaced by what the run really did; and what was seen."""
    bad = np.argwhere(~np.isfinite(rates) | (rates < 0))
    if rates.ndim != 2 or rates.shape[1] == 0 or len(bad):
        where = f"{rates[tuple(bad[0])]} at entry {bad[0][-1]}" if len(bad) else f"an array of {rates.shape}"
        raise ValueError(f"learning rates must be finite numbers >= 0, one row a schedule, got {where}")
    cells = on_cells(np.asarray(rates, dtype=np.float64))
    if not np.all(cells.max(axis=1) > 0):
        raise ValueError("a schedule must have a learning rate above zero somewhere, got zero throughout")
    if context is None:
        return cells, None
    if context.start:
        raise ValueError(
            f"a known schedule is judged from the run's first point on, got a context from {context.start}"
        )
    observed = Observed.of(context, forecaster.points)
    return _with_past(forecaster, cells, context), observed


def _with_past(forecaster: Forecaster, cells: NDArray[np.float64], context: Context) -> NDArray[np.float64]:
    fine = np.flatnonzero(context.mask[:, LR])
    if len(fine) == 0:
        return cells
    done = forecaster.recipe.normaliser.lr.inverse(context.values[fine, LR])
    ends = (fine + 1.0) / forecaster.points
    past = np.interp((np.arange(CELLS) + 0.5) / CELLS, ends - 0.5 / forecaster.points, done)
    known = (np.arange(CELLS) + 1.0) / CELLS <= ends[-1] + 1e-9
    return np.where(known, past, cells)


def _drawn(
    forecaster: Forecaster, ends: NDArray[np.float64], curve: NDArray[np.float64], context: Context | None
) -> NDArray[np.float64]:
    """Loss and metric (times, 2) on the grid of points: measured where they were, else through the forecast's cells."""
    out = np.empty((forecaster.points, 2))
    for channel in (LOSS, METRIC):
        x, y = ends, curve[:, channel]
        if context is not None and context.mask[:, channel].any():
            fine = np.flatnonzero(context.mask[:, channel])
            seen, values = forecaster.times[fine], context.values[fine, channel]
            later = ends > seen[-1]
            x, y = np.concatenate([seen, ends[later]]), np.concatenate([values, curve[later, channel]])
        out[:, channel] = np.interp(forecaster.times, x, y)
    return out


def _interval(units, values: NDArray[np.float64]) -> Interval:
    """Centre and half width (2, points) in model units to an interval in the user's."""
    ends = np.sort(np.stack([units.shown(values[0] - values[1]), units.shown(values[0] + values[1])]), axis=0)
    return Interval(units.shown(values[0]), ends[0], ends[1])
