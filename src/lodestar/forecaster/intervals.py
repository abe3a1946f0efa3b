"""Intervals around a forecast, calibrated on held-out runs.

Comes in: how much of a run was seen, and which points are forecast. Goes out: how far below and above the forecast the
truth lay, in model units, for a share of held-out runs. The table is measured by a fit on runs it did not train on, in
bins of (seen, target), and interpolated, also across bins in which nothing was logged (a metric is rare): between two
validations an interval goes from the width at one to the width at the other. Where an ensemble's members disagree more
than they did there, intervals widen; the table is measured with that. Good runs are forecast more closely than bad
ones: the final metric of a run that is steered to be good has a table of its own, from the better half of those runs.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.axes import FinalTable, IntervalTable, PointValues, SpreadTable, Times
from lodestar.forecaster.preprocessing.normaliser import METRIC

LEVELS = (0.5, 0.8, 0.9, 0.95)
SEEN = np.array([0.03, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0])
TARGETS = np.linspace(0.05, 1.0, 20)
UNMEASURED = 2.0  # the offset, either way, that stands in a table where too few held-out runs logged anything


@dataclasses.dataclass(frozen=True)
class Intervals:
    """`low` and `high`: offsets from the forecast, model units. `typical`: member spread.

    `good`: offsets of the final metric, low and high, among runs forecast to end in the better half; None where too few
    were held out, and in files from before there was such a table.
    """

    low: IntervalTable
    high: IntervalTable
    typical: SpreadTable
    good: FinalTable | None = None

    def __post_init__(self):
        """Fill what was not measured from its neighbours in time; files of release one hold such bins too."""
        blank = np.all((self.low == -UNMEASURED) & (self.high == UNMEASURED), axis=0)
        for row, channel in np.argwhere(blank.any(axis=1) & ~blank.all(axis=1)):
            known = ~blank[row, :, channel]
            for name in ("low", "high"):
                table = getattr(self, name).copy()
                table[:, row, :, channel] = [
                    np.interp(TARGETS, TARGETS[known], offsets[known]) for offsets in table[:, row, :, channel]
                ]
                object.__setattr__(self, name, table)

    @classmethod
    def wide(cls) -> "Intervals":
        """What to say when nothing was held out: one standard deviation of the training data, either way."""
        shape = (len(LEVELS), len(SEEN), len(TARGETS), 3)
        width = np.array([0.67, 1.28, 1.64, 1.96])[:, None, None, None]
        return cls(np.broadcast_to(-width, shape).copy(), np.broadcast_to(width, shape).copy(), np.zeros(shape[1:]))

    def around(
        self, centre: PointValues, spread: PointValues, seen: float, times: Times, level: float
    ) -> tuple[PointValues, PointValues]:
        """Lower and upper bound around a forecast `centre` at `times`, model units."""
        which = _place(level)
        low, high, typical = (
            _lookup(table, seen, times) for table in (self.low[which], self.high[which], self.typical)
        )
        wider = widened(spread, typical)
        return centre + low * wider, centre + high * wider

    def around_final(
        self, final: float, spread: float, seen: float, level: float, *, good: bool = False
    ) -> tuple[float, float]:
        """Lower and upper bound of a final metric, model units; `good`: of a run that is steered to be good."""
        if self.good is None or not good:
            centre, apart = np.full((1, 3), final), np.full((1, 3), spread)
            low, high = self.around(centre, apart, seen, np.ones(1), level)
            return float(low[0, METRIC]), float(high[0, METRIC])
        low, high = (float(np.interp(_log(seen), np.log(SEEN), side[_place(level)])) for side in self.good)
        wider = float(widened(np.array(spread), _lookup(self.typical, seen, np.ones(1))[0, METRIC]))
        return final + low * wider, final + high * wider


def widened(spread: NDArray, typical: NDArray | float) -> NDArray[np.float64]:
    """How many times wider an interval is where members disagree by `spread`."""
    return np.where(np.asarray(typical) > 1e-9, np.maximum(1.0, spread / np.maximum(typical, 1e-9)), 1.0)


def _place(level: float) -> int:
    if level not in LEVELS:
        raise ValueError(f"level must be one of {LEVELS}, got {level}")
    return LEVELS.index(level)


def _log(seen: float) -> float:
    return float(np.log(np.clip(seen, SEEN[0], SEEN[-1])))


def _lookup(table: NDArray, seen: float, times: NDArray) -> NDArray[np.float64]:
    """Bilinear in (log seen, target time)."""
    place = np.interp(_log(seen), np.log(SEEN), np.arange(len(SEEN)))
    left = min(int(place), len(SEEN) - 2)
    rows = table[left] * (left + 1 - place) + table[left + 1] * (place - left)
    return np.stack([np.interp(times, TARGETS, rows[:, channel]) for channel in range(rows.shape[1])], axis=-1)
