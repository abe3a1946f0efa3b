"""Forecast fans: what the forecaster foresaw at several moments of a steered run, beside what came.

Comes in: a steered run whose curves are known, and the forecaster. Goes out: charts of the metric and the loss, none
where either is missing or they do not fit one another.
"""

import numpy as np

from lodestar._errors import LodestarError
from lodestar.forecaster import Forecast, Forecaster
from lodestar.forecaster.at_scale import for_run
from lodestar.report.html import Axis, Chart, Line, Mark, Shading, thin
from lodestar.report.sections.examples import limits
from lodestar.report.sections.steered import SteeredRun
from lodestar.report.sections.wording import percent
from lodestar.runs.run import Run

MOMENTS = (0.1, 0.3, 0.6)
LEVELS = (0.5, 0.8)
_EVERY = 60  # points of a fan


def fan_charts(steered: SteeredRun, forecaster: Forecaster | None) -> list[Chart]:
    """A fan from each moment, over the true curve."""
    run = steered.run
    if run is None or forecaster is None or run.direction is not forecaster.direction:
        return []
    at = for_run(forecaster, run)
    try:
        fans = [{level: at.forecast(at.context_of(run, seen), level) for level in LEVELS} for seen in MOMENTS]
    except LodestarError:
        return []
    smooth = forecaster.recipe.to_points(run.loss, run.metric, run.lr, run.total_steps)
    found = []
    for place, (channel, title) in enumerate({"loss": "training loss", "metric": run.metric_name}.items()):
        truth = np.where(smooth.mask[:, place], smooth.values[:, place], np.nan)
        found.append(_chart(run, fans, channel, title, truth))
    return found[::-1]


def _chart(run: Run, fans: list[dict[float, Forecast]], channel: str, title: str, truth: np.ndarray) -> Chart:
    steps = next(iter(fans[0].values())).steps(run.total_steps)
    series: list[Mark] = []
    for colour, (seen, fan) in enumerate(zip(MOMENTS, fans, strict=True)):
        series += _fan(fan, channel, f"foreseen at {percent(seen)}", (0, 1, 2)[colour], run.total_steps)
    series.append(Line("what came", *thin(steps, truth), colour="ink", width=1.5))
    later = truth[len(truth) // 20 :]
    low, high = limits(later, *(getattr(fan[LEVELS[-1]], channel).centre[fan[LEVELS[-1]].seen[1] :] for fan in fans))
    caption = f"Shaded: where {percent(LEVELS[0])} and {percent(LEVELS[1])} of such runs should go."
    return Chart(f"forecast fans: {title}", series, Axis("step", low=0), Axis(title, low=low, high=high), caption)


def _fan(fan: dict[float, Forecast], channel: str, name: str, colour: int, total: int) -> list[Mark]:
    """From the moment on."""
    series: list[Mark] = []
    one = next(iter(fan.values()))
    first = max(one.seen[1] - 1, 0)
    kept = np.unique(np.linspace(first, len(one.times) - 1, _EVERY).round().astype(int))
    steps = one.steps(total)[kept]
    for level in sorted(fan, reverse=True):
        part = getattr(fan[level], channel)
        series.append(
            Shading(f"{name}, {percent(level)}", steps, part.lower[kept], part.upper[kept], name, colour, 0.14)
        )
    series.append(Line(name, steps, getattr(one, channel).centre[kept], name, colour))
    return series
