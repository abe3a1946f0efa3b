"""Trials as arrays: what was seen of each on equal cells of its run, on a scale where more is better.

Comes in: runs that have ended, and the one under way. Goes out: `Trials`, and at some share of the run the features
that the final metric is forecast from: where a trial stands, how fast it moves, what its schedule has done and will do.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.transform import Transform, loss_transform, metric_transform
from lodestar.forecaster.response.history import CELLS, on_cells
from lodestar.runs.run import Direction, Run, Series, Status
from lodestar.schedules.schedule import Schedule

_BACK = (0.5, 0.8)  # how fast a trial moves: since these shares of what was seen
_SPANS = ((0.5, 0.8), (0.9, 1.0), (0.97, 1.0))  # parts of the schedule whose mean rates count
_NOW = 2  # cells
_FLOOR = 3e-3  # of a typical peak: a rate of zero has a finite logarithm
_BELOW = 0.5  # distances from the middle to the best: worse than that below all that matters is as bad as that
_LOSS_BELOW = 0.5
OF_LOSS = slice(1 + len(_BACK), 1 + 2 * len(_BACK))
"""Which features are of the loss, where all trials have one."""

Rows = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Units:
    """The scale: transforms of metric and loss, how low they may count, and what is typical of a schedule."""

    metric: Transform
    loss: Transform
    sign: float
    lowest: float
    lowest_loss: float
    peak: float  # 0: rates are unknown, or left out
    sum: float
    knows_loss: bool

    def value(self, metric: float) -> float:
        """A metric on the scale."""
        return float(self.sign * self.metric.forward(metric))

    def back(self, value: float) -> float:
        """In the user's units again."""
        return float(self.metric.inverse(self.sign * value))


@dataclasses.dataclass(frozen=True)
class Trials:
    """`stands` (trials, cells, 2): metric and loss, the last value held; `seen`: shares; `rates` (trials, cells)."""

    stands: NDArray[np.float64]
    seen: NDArray[np.float64]
    rates: NDArray[np.float64]
    finals: NDArray[np.float64]  # NaN where the trial did not finish

    def __len__(self) -> int:
        return len(self.seen)

    def features(self, units: Units, share: float) -> Rows:
        """(trials, features), the metric first, all as they were at that share of the run."""
        cell = max(round(share * CELLS) - 1, 0)
        lowest = (units.lowest, units.lowest_loss) if units.knows_loss else (units.lowest,)
        columns = []
        for channel, low in enumerate(lowest):
            stand = np.maximum(self.stands[:, :, channel], low)
            earlier = [max(int(part * (cell + 1)) - 1, 0) for part in _BACK[: len(_BACK) - channel]]
            columns += [stand[:, cell], *(stand[:, cell] - stand[:, before] for before in earlier)]
        return np.stack(columns + (self._of_rates(units, cell) if units.peak > 0 else []), axis=1)

    def _of_rates(self, units: Units, cell: int) -> list[NDArray[np.float64]]:
        floor, rates = _FLOOR * units.peak, self.rates
        sums = [rates.sum(axis=1), rates[:, cell + 1 :].sum(axis=1)]
        now = rates[:, max(cell + 1 - _NOW, 0) : cell + 1].mean(axis=1)
        spans = [rates[:, round(start * CELLS) : round(stop * CELLS)].mean(axis=1) for start, stop in _SPANS]
        fall = (now - spans[-1]) / units.peak  # what noise of the rate is still to go: not a matter of its logarithm
        logs = [np.log(total / units.sum + 1e-3) for total in sums] + [np.log(mean + floor) for mean in (now, *spans)]
        return [*logs, fall]


def read_units(runs: Sequence[Run], *, rates: bool, schedules: Mapping[str, NDArray[np.float64]]) -> Units:
    """The scale of these runs, some of which have finished."""
    sign = 1.0 if runs[0].direction is Direction.MAX else -1.0
    metric = metric_transform(np.concatenate([run.metric.values for run in runs]), runs[0].direction)
    loss = loss_transform(np.concatenate([run.loss.values for run in runs]))
    ends = sign * metric.forward([run.final_metric for run in runs if run.status is Status.FINISHED])
    first = [_first(run.metric) for run in runs]
    spread = max(float(ends.max() - np.median(ends)), 1e-3)
    lowest = min(float(np.median(sign * metric.forward(first))), float(np.quantile(ends, 0.25))) - _BELOW * spread
    lowest_loss = -float(np.median(loss.forward([_first(run.loss) for run in runs]))) - _LOSS_BELOW
    typical = np.array([schedules[run.name] for run in runs if run.name in schedules]) if rates else np.zeros((0, 1))
    peak, total = (
        (float(np.median(typical.max(axis=1))), float(np.median(typical.sum(axis=1)))) if len(typical) else (0.0, 1.0)
    )
    return Units(metric, loss, sign, lowest, lowest_loss, peak, total + 1e-12, all(map(has_loss, runs)))


def read_trials(runs: Sequence[Run], units: Units, schedules: Mapping[str, NDArray[np.float64]]) -> Trials:
    """Runs on the cells."""
    stands = np.zeros((len(runs), CELLS, 2))
    for place, run in enumerate(runs):
        stands[place, :, 0] = _on_cells(run.metric, run.total_steps, lambda x: units.sign * units.metric.forward(x))
        stands[place, :, 1] = _on_cells(run.loss, run.total_steps, lambda x: -units.loss.forward(x))
    seen = np.array([run.metric.steps[-1] / run.total_steps for run in runs])
    rates = np.array([schedules.get(run.name, np.zeros(CELLS)) for run in runs])
    finals = [units.value(run.final_metric) if run.status is Status.FINISHED else np.nan for run in runs]
    return Trials(stands, seen, rates, np.array(finals))


def rates_of(run: Run, schedule: Schedule | None = None) -> NDArray[np.float64] | None:
    """The learning rate on the cells, of a schedule or as it was logged; None if it is not known to the end."""
    if schedule is not None:
        return on_cells(schedule.rates[None])[0]
    if not len(run.lr) or run.peak_lr <= 0 or run.lr.steps[-1] < 0.98 * run.total_steps:
        return None
    return np.interp((np.arange(CELLS) + 0.5) / CELLS * run.total_steps, run.lr.steps, run.lr.values)


def without_loss(run: Run) -> Run:
    """The run with its metric in the place of a loss, turned so that less is better: many trials report no loss."""
    sign = 1.0 if run.direction is Direction.MIN else -1.0
    return run.replace(loss=Series(run.metric.steps, sign * run.metric.values)) if len(run.metric) else run


def has_loss(run: Run) -> bool:
    """Whether the loss is one of its own."""
    return run.loss != without_loss(run).loss


def _on_cells(series: Series, total: int, scale: Callable[[NDArray], NDArray]) -> NDArray[np.float64]:
    """The curve at the end of each cell, each a mean with the one before it."""
    fine = np.isfinite(series.values)
    if not fine.any():
        return np.full(CELLS, -np.inf)
    at = (np.arange(CELLS) + 1.0) / CELLS * total
    curve = np.interp(at, series.steps[fine], scale(series.values[fine]))
    return (curve + np.append(curve[:1], curve[:-1])) / 2


def _first(series: Series) -> float:
    fine = series.values[np.isfinite(series.values)]
    return float(fine[0]) if len(fine) else np.nan
