"""True runs beside their forecasts (the paper's figure of trajectories): black the truth, orange the forecast.

Comes in: an `Evaluation`, or one forecast of one run. Goes out: charts of metric, loss and learning rate, and blocks.
What was seen is shaded.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar.evaluate.evaluation import Drawn, Evaluation, Example
from lodestar.forecaster import Forecast
from lodestar.forecaster.preprocessing import CHANNELS, Points
from lodestar.report.html import Axis, Block, Chart, Details, Line, Mark, Shading, Text, XSpan, thin
from lodestar.report.html.thin import corners
from lodestar.report.sections.wording import channels, percent, short

ChannelCurves = Mapping[str, Sequence[float]]  # by channel, a value a point, NaN where there is none


def example_blocks(evaluation: Evaluation) -> list[Block]:
    """A fold for each example, the median one open."""
    if not evaluation.examples:
        return []
    blocks: list[Block] = [Text("True runs and their forecasts: the run forecast best, worst, and in the middle.")]
    for example in evaluation.examples:
        charts = [
            chart for drawn in example.forecasts for chart in example_charts(example, drawn, evaluation.metric_name)
        ]
        blocks.append(Details(f"The {example.why} forecast: {short(example.run)}", charts, example.why == "median"))
    return blocks


def example_charts(example: Example, drawn: Drawn, metric_name: str) -> list[Chart]:
    """One forecast of an example run."""
    return _charts(example.steps, example.raw, example.smoothed, drawn, metric_name)


def forecast_charts(
    forecast: Forecast, raw: Points, smoothed: Points, total_steps: int, metric_name: str
) -> list[Chart]:
    """One forecast of one run, beside what was logged so far."""
    parts = (
        {name: getattr(getattr(forecast, name), part).tolist() for name in CHANNELS}
        for part in ("centre", "lower", "upper")
    )
    drawn = Drawn(forecast.seen[1] / len(forecast.times), forecast.level, *parts)
    return _charts(forecast.steps(total_steps).tolist(), _logged(raw), _logged(smoothed), drawn, metric_name)


def _logged(points: Points) -> dict[str, list[float]]:
    values = np.where(points.mask, points.values, np.nan)
    return {name: values[:, channel].tolist() for channel, name in enumerate(CHANNELS)}


def _charts(
    steps: Sequence[int], raw: ChannelCurves, truth: ChannelCurves, drawn: Drawn, metric_name: str
) -> list[Chart]:
    return [
        _chart(steps, raw[channel], truth[channel], drawn, channel, title)
        for channel, title in channels(metric_name).items()
    ]


def _chart(
    steps: Sequence[int], raw: Sequence[float], truth: Sequence[float], drawn: Drawn, channel: str, title: str
) -> Chart:
    centre, end = drawn.centre[channel], float(steps[-1])
    series: list[Mark] = [
        _interval(steps, drawn.lower[channel], drawn.upper[channel], f"{percent(drawn.level)} interval"),
        Line("forecast", *corners(steps, centre), colour=0),
        Line("truth", *thin(steps, truth), colour="ink", width=1.4),
    ]
    if channel != "lr":
        series.insert(0, Line("as logged", *thin(steps, raw), colour="faint", width=0.8))
    low, high = limits(truth, centre)
    return Chart(
        f"{title}, {percent(drawn.seen)} seen",
        series,
        Axis("step", low=0, high=end),
        Axis(title, low=0.0 if channel == "lr" else low, high=high),
        spans=[XSpan(0, drawn.seen * end, "seen")],
        height=230,
    )


def _interval(steps: Sequence[float], lower: Sequence[float], upper: Sequence[float], name: str) -> Shading:
    """In as few points as the eye needs."""
    every = max(1, len(steps) // 100)
    kept = sorted({*range(0, len(steps), every), len(steps) - 1})
    x, low, high = (_floats(part)[kept] for part in (steps, lower, upper))
    return Shading(name, x, low, high, colour=0)


def limits(*curves: ArrayLike) -> tuple[float | None, float | None]:
    """The truth and the forecast set the scale, not an interval that can dwarf them."""
    values = np.concatenate([_floats(curve) for curve in curves])
    values = values[np.isfinite(values)]
    if not len(values):
        return None, None
    room = 0.1 * float(values.max() - values.min()) or 0.05 * abs(float(values.max())) or 1.0
    return float(values.min()) - room, float(values.max()) + room


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, float)
