"""The final metric of a trial under way, forecast from trials that have ended, and its place among them.

Comes in: finished and stopped runs; the observed part of another one, and its schedule if that is known to the end.
Goes out: its final metric with an interval, and how many of the trials before it looked better at the same share of the
run. Trials that were stopped count with the final that is forecast from their last moment. All is in closed form: a fit
to a hundred trials takes a fraction of a second.

How far a place can be trusted is measured: see `places`. By plain value or by forecast, whichever tells winners apart
better at that moment, and the same of a later moment at least.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit
from scipy.stats import rankdata

from lodestar.pruning.places import Past, in_time
from lodestar.pruning.regression import Regression, fit_regression
from lodestar.pruning.trials import OF_LOSS, Trials, Units, has_loss, rates_of, read_trials, read_units
from lodestar.runs.run import Direction, Run, Status
from lodestar.schedules.schedule import Schedule

LEVEL = 0.9
MOMENTS = (0.05, 0.07, 0.1, 0.13, 0.17, 0.25, 0.37, 0.5, 0.62, 0.75)  # shares of a run at which it is judged
_MOST_RUNS = 128  # learned from
_BEST = 32  # of them, the best; the others are spread evenly over time
_LEAST = 3  # finished runs
_TWICE = 2  # the last moments: a trial must look bad at each, for values and forecasts jump
_LATER = 2.0  # times the moment: a trial that was stopped so much later tells how good the forecasts there were
_SURE = 1.645  # deviations of a correlation by luck alone
_CLOSE = 0.99  # no correlation of a few trials counts as closer
_PRIOR_RUNS = 3  # degrees of freedom that the prior width of errors stands for


@dataclasses.dataclass(frozen=True)
class Final:
    """A forecast final metric, in the user's units; `chance` is that of ending better than `than`.

    `better` of `among` trials looked better, where `asked` of them may, at whichever of the last two moments speaks
    more for this one; at the first moment all may.
    """

    centre: float
    lower: float
    upper: float
    seen: float  # share of the run
    than: float
    chance: float
    knows_schedule: bool
    better: int
    among: int
    asked: int


@dataclasses.dataclass(frozen=True)
class Moment:
    """What was learned at one share of the run. `shown`: the past trials' forecasts there, or plain values if those
    tell winners apart better (`by_value`); `within` that share of trials, from the top, nearly every winner is."""

    share: float
    regression: Regression
    shown: NDArray[np.float64]
    by_value: bool
    within: float
    proven: bool


@dataclasses.dataclass(frozen=True)
class FinalModel:
    """Regressions for each moment that enough trials have come to."""

    units: Units
    moments: tuple[Moment, ...]
    knows_schedule: bool
    runs: int  # learned from
    finished: int

    @property
    def proven(self) -> bool:
        """Whether it ranks held-out runs better than luck would, at one moment at least."""
        return any(moment.proven for moment in self.moments)

    def forecast(self, run: Run, schedule: Schedule | None, than: float) -> Final | None:
        """None where it cannot tell more than chance."""
        rates = rates_of(run, schedule) if self.knows_schedule else np.ones(1)
        seen = float(run.metric.steps[-1]) / run.total_steps if len(run.metric) else 0.0
        passed = [moment for moment in self.moments if moment.share <= seen + 1e-9]
        if rates is None or not passed or not passed[-1].proven:
            return None
        trial = read_trials([run], self.units, {run.name: rates} if self.knows_schedule else {})
        looks = [self._look(moment, run, trial) for moment in passed[-_TWICE:] if moment.proven]
        better, asked = min(((look[2], look[3]) for look in looks), key=lambda pair: pair[0] - pair[1])
        asked = asked if len(looks) == _TWICE else self.runs
        centre, deviation = looks[-1][:2]
        freedom = self.finished + _PRIOR_RUNS
        chance = float(stdtr(freedom, (centre - self.units.value(than)) / deviation))
        half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * deviation
        lower, upper = sorted(self.units.back(centre + side * half) for side in (-1.0, 1.0))
        centre = self.units.back(centre)
        return Final(centre, lower, upper, seen, than, chance, self.knows_schedule, better, self.runs, asked)

    def _look(self, moment: Moment, run: Run, trial: Trials) -> tuple[float, float, int, int]:
        """Forecast and deviation at a moment, how many past trials looked better there, and how many may."""
        features = trial.features(self.units, moment.share)
        if self.units.knows_loss and not has_loss(run):
            features[:, OF_LOSS] = moment.regression.mean[OF_LOSS]
        centres, deviations = moment.regression(features)
        better = moment.shown > (features[0, 0] if moment.by_value else centres[0])
        return float(centres[0]), float(deviations[0]), int(better.sum()), int(self.runs * moment.within)


def fit_finals(runs: Sequence[Run], schedules: Mapping[str, Schedule] | None = None) -> tuple[FinalModel, ...]:
    """A model of the curves, and one of the schedules where most runs have rates that differ; none from too few runs.

    `schedules`, by the names of runs, are those of trials that were stopped: what they logged does not go to the end.
    """
    chosen = _chosen(
        [run for run in runs if run.status is not Status.DIVERGED and np.isfinite(run.metric.values).any()]
    )
    given = schedules or {}
    rates = {run.name: known for run in chosen if (known := rates_of(run, given.get(run.name))) is not None}
    differ = len({known.tobytes() for known in rates.values()}) > 1
    with_rates = [run for run in chosen if run.name in rates]
    found = [_fitted(chosen, {})]
    if differ and len(with_rates) >= 0.8 * len(chosen):
        found.append(_fitted(with_rates, rates))
    return tuple(model for model in found if model is not None)


def _fitted(runs: Sequence[Run], rates: Mapping[str, NDArray]) -> FinalModel | None:
    finished = [run for run in runs if run.status is Status.FINISHED]
    if len(finished) < _LEAST or len({run.final_metric for run in finished}) < 2:
        return None
    units = read_units(runs, rates=bool(rates), schedules=rates)
    trials = read_trials(runs, units, rates)
    moments = _moments(trials, units)
    return FinalModel(units, moments, bool(rates), len(runs), len(finished)) if moments else None


def _moments(trials: Trials, units: Units) -> tuple[Moment, ...]:
    """From the last to the first: trials that were stopped at a moment are forecast there by those that went on."""
    finals = np.maximum(trials.finals, units.lowest)
    whole = np.isfinite(finals)
    top = finals[whole]
    unit = 0.05 * max(float(top.max() - np.median(top)), 1e-3)
    variances, found = np.zeros(len(trials)), []
    for share in reversed(MOMENTS):
        here = trials.seen >= share - 1e-9
        features = trials.features(units, share)
        stopped = here & ~np.isfinite(finals)
        if stopped.any():
            went_on = here & ~stopped
            made = fit_regression(features[went_on], finals[went_on], variances[went_on], unit)
            finals[stopped], deviations = made(features[stopped])
            variances[stopped] = deviations**2
        regression = fit_regression(features[here], finals[here], variances[here], unit)
        told = (whole | (trials.seen >= _LATER * share))[here]
        past = Past(finals[here], variances[here], told, len(trials))
        found.append(_moment(share, regression, features[here][:, 0], past))
    found.reverse()
    shares = in_time([moment.within for moment in found])
    return tuple(dataclasses.replace(one, within=float(share)) for one, share in zip(found, shares, strict=True))


def _moment(share: float, regression: Regression, values: NDArray, past: Past) -> Moment:
    told, forecasts = past.told, regression.left_out
    close = max(_correlation(shown[told], past.finals[told]) for shown in (forecasts, values))
    proven = math.atanh(close) > _SURE / math.sqrt(max(int(told.sum()) - 3, 0.5))
    within = past.by_value(values), past.by_forecast(forecasts)
    by_value = within[0] < within[1]
    return Moment(share, regression, values if by_value else forecasts, by_value, min(within), proven)


def _correlation(forecasts: NDArray, finals: NDArray) -> float:
    """Mean of two: of the values, which the best decide, and of normal scores, which no single trial decides."""
    span = float(np.ptp(finals))
    if np.ptp(forecasts) == 0 or span == 0:
        return 0.0
    near = np.clip(forecasts, finals.min() - span / 2, finals.max() + span / 2)
    scores = [ndtri((rankdata(values) - 0.5) / len(values)) for values in (forecasts, finals)]
    found = [np.corrcoef(near, finals)[0, 1] if np.ptp(near) else 0.0, np.corrcoef(*scores)[0, 1]]
    return float(np.mean(np.clip(found, -_CLOSE, _CLOSE)))


def _chosen(runs: Sequence[Run]) -> list[Run]:
    if len(runs) <= _MOST_RUNS:
        return list(runs)
    worth = [run.final_metric if run.status is Status.FINISHED else np.nan for run in runs]
    sign = -1.0 if runs[0].direction is Direction.MAX else 1.0
    order = np.argsort(np.nan_to_num(sign * np.array(worth), nan=np.inf), kind="stable")
    best = set(order[:_BEST].tolist())
    rest = [place for place in range(len(runs)) if place not in best]
    spread = np.linspace(0, len(rest) - 1, _MOST_RUNS - _BEST).round().astype(int)
    return [runs[place] for place in sorted(best | {rest[place] for place in spread})]
