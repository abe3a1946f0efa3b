"""Shadow scoring: after a run, how good the scheduler's own forecasts of the final metric were.

Comes in: decisions, and the final metric the run reached. Goes out: errors and how often the interval held the truth.
In shadow mode the forecast is that of the run as it went (the plain schedule was followed); when steering, that of what
was followed. Knows nothing of why the forecasts were made.
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from lodestar.scheduler.records.decision import Decision


@dataclasses.dataclass(frozen=True)
class Scored:
    """One forecast against the truth."""

    step: int
    forecast: float
    interval: tuple[float, float] | None
    error: float  # forecast minus truth


@dataclasses.dataclass(frozen=True)
class ShadowScore:
    """All forecasts of a run against the metric it ended with. NaN where there is nothing to score."""

    actual: float
    forecasts: tuple[Scored, ...]
    mean_error: float  # mean absolute error
    bias: float  # mean error: above zero, forecasts were too high
    within: float  # share of intervals that held the truth

    def __str__(self) -> str:
        if not self.forecasts:
            return "no forecast to score yet"
        return (
            f"{len(self.forecasts)} forecasts of the final metric, which was {self.actual:.4g}: off by "
            f"{self.mean_error:.3g} on average (bias {self.bias:+.3g}), {self.within:.0%} of the intervals held it"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dataclasses.asdict(self)


def score_forecasts(decisions: Iterable[Decision], actual: float, *, steering: bool) -> ShadowScore:
    """Every decision's forecast of the final metric against `actual`."""
    rows = []
    for decision in decisions:
        forecast = decision.predicted if steering else decision.forecast
        interval = decision.interval if steering else decision.forecast_interval
        if forecast is not None and math.isfinite(actual):
            rows.append(Scored(decision.step, forecast, interval, forecast - actual))
    held = [row.interval[0] <= actual <= row.interval[1] for row in rows if row.interval is not None]
    return ShadowScore(
        actual,
        tuple(rows),
        _mean([abs(row.error) for row in rows]),
        _mean([row.error for row in rows]),
        _mean([float(one) for one in held]),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan
