"""The final metric over the peak rate, at each size: how the best rate moves, and how far it is extrapolated.

Comes in: a forecaster whose runs differ in size, batch or length, and perhaps a job. Goes out: a curve for each value
that past runs cover and one for the job, of one shape of schedule; and the line of best rates with its interval.
"""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.at_scale import at_scale
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.known_schedules import judge
from lodestar.forecaster.scale_law import Quantity, ScaleLaw
from lodestar.planning.plan import plan
from lodestar.planning.space import peak_range
from lodestar.runs.run import Direction

_REACH = 1.2816  # deviations: an 80 % interval
_PEAKS = np.geomspace(1 / 8, 6.0, 57)  # times the best
_MOST_CURVES = 4  # of past values
_LINE = 25


@dataclasses.dataclass(frozen=True)
class RateCurve:
    """One value of the quantity: the final metric at each peak rate, and the best one."""

    value: float
    peaks: NDArray[np.float64]
    centre: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    best: float


@dataclasses.dataclass(frozen=True)
class OverRates:
    """The curves, low values first; `line`: value, best rate, and the ends of its 80 % interval."""

    quantity: Quantity
    curves: tuple[RateCurve, ...]
    job: RateCurve | None
    line: NDArray[np.float64]  # (points, 4)

    @property
    def reach(self) -> tuple[float, float] | None:
        """Where the law puts the job's best peak rate, 80 % interval."""
        if self.job is None:
            return None
        near = self.line[int(np.argmin(np.abs(np.log(self.line[:, 0] / self.job.value))))]
        return float(near[2]), float(near[3])


def over_rates(forecaster: Forecaster, job: Mapping[str, float | None] | None = None) -> OverRates | None:
    """How the best rate moves with what past runs differ in most; None where they differ in nothing.

    `job` states quantities of the law by name. The schedules have the shape of the reference job's plan.
    """
    law = forecaster.law
    quantity = None if law is None or forecaster.response is None else moving(law)
    if law is None or quantity is None:
        return None
    stated = {name: value for name, value in (job or {}).items() if value is not None and law.of(name)}
    shape = plan(forecaster, 1000).schedule.rates
    shape = shape / shape.max()
    best = _best(forecaster, shape)

    def curve(value: float, doubtful: bool) -> RateCurve:
        turned = at_scale(forecaster, {**stated, quantity.name: value}).forecaster
        turned = turned if doubtful else dataclasses.replace(turned, rate_doubt=0.0, level_doubt=0.0)
        return _curve(turned, shape, value, best / turned.rate_factor)

    own = stated.pop(quantity.name, None)
    values = np.geomspace(quantity.low, quantity.high, min(quantity.distinct, _MOST_CURVES))
    ours = None if own is None else curve(own, True)
    ends = [quantity.low, quantity.high, *([] if own is None else [own])]
    line = np.array([_on_line(law, quantity, value, stated, best) for value in _spread(min(ends), max(ends), own)])
    return OverRates(quantity, tuple(curve(float(value), False) for value in values), ours, line)


def moving(law: ScaleLaw) -> Quantity | None:
    """The quantity in which past runs differ most, sizes before batches and lengths."""
    learned = [quantity for quantity in law.quantities if quantity.learned]
    if law.size is not None and law.size.learned:
        return law.size
    return max(learned, key=lambda q: q.high / q.low, default=None)


def _best(forecaster: Forecaster, shape: NDArray[np.float64]) -> float:
    """The best peak in the reference job, among those that past runs have tried."""
    peaks = np.geomspace(*peak_range(forecaster), 161)
    judged = judge(forecaster, peaks[:, None] * shape)
    return float(peaks[_top(forecaster, judged.centre)])


def _curve(turned: Forecaster, shape: NDArray[np.float64], value: float, near: float) -> RateCurve:
    peaks = near * _PEAKS
    judged = judge(turned, peaks[:, None] * shape)
    return RateCurve(value, peaks, judged.centre, judged.lower, judged.upper, float(peaks[_top(turned, judged.centre)]))


def _top(forecaster: Forecaster, finals: NDArray[np.float64]) -> int:
    return int(np.argmax(finals if forecaster.direction is Direction.MAX else -finals))


def _spread(low: float, high: float, job: float | None) -> NDArray[np.float64]:
    values = np.geomspace(low, high, _LINE)
    return values if job is None else np.unique(np.append(values, job))


def _on_line(
    law: ScaleLaw, quantity: Quantity, value: float, stated: Mapping[str, float], best: float
) -> tuple[float, float, float, float]:
    job = {**stated, quantity.name: value}
    middle, reach = best / law.factor(job), math.exp(_REACH * law.doubt(job))
    return value, middle, middle / reach, middle * reach
