"""True runs beside their forecasts: the median, the best and the worst forecast, each quantity a chart with its band.

Comes in: an `Evaluation`. Goes out: blocks.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lodestar.evaluate.evaluation import Drawn, Evaluation, Example
from lodestar.report.html import Axis, Band, Block, Chart, Fold, Line, Series, Span, Text, thin
from lodestar.report.html.thin import corners
from lodestar.report.sections.wording import percent, short


def example_blocks(found: Evaluation) -> list[Block]:
    """A fold for each example, the median one open."""
    if not found.examples:
        return []
    names = {"metric": short(found.metric_name, 30), "loss": "training loss", "lr": "learning rate"}
    blocks: list[Block] = [Text("True runs and their forecasts: the run forecast best, worst, and in the middle.")]
    for example in found.examples:
        charts = [
            _chart(example, drawn, channel, title) for drawn in example.forecasts for channel, title in names.items()
        ]
        blocks.append(Fold(f"The {example.why} forecast: {short(example.run)}", charts, example.why == "median"))
    return blocks


def _chart(example: Example, drawn: Drawn, channel: str, title: str) -> Chart:
    truth = example.smoothed[channel]
    series: list[Series] = [
        band(example.steps, drawn.lower[channel], drawn.upper[channel], f"{percent(drawn.level)} band"),
        Line("forecast", *corners(example.steps, drawn.centre[channel]), colour=0),
        Line("truth", *thin(example.steps, truth), colour="ink", width=1.4),
    ]
    end = float(example.steps[-1])
    low, high = limits(truth, drawn.centre[channel])
    return Chart(
        f"{title}, {percent(drawn.seen)} seen",
        series,
        Axis("step", low=0, high=end),
        Axis(title, low=0.0 if channel == "lr" else low, high=high),
        spans=[Span(0, drawn.seen * end, "seen")],
        height=230,
    )


def band(steps: Sequence[float], lower: Sequence[float], upper: Sequence[float], name: str) -> Band:
    """A band in as few points as the eye needs."""
    every = max(1, len(steps) // 100)
    kept = sorted({*range(0, len(steps), every), len(steps) - 1})
    x, low, high = (np.asarray(part, float)[kept] for part in (steps, lower, upper))
    return Band(name, x, low, high, colour=0)


def limits(*curves: ArrayLike) -> tuple[float | None, float | None]:
    """The truth and the forecast set the scale, not a band that can dwarf them."""
    values = np.concatenate([np.asarray(curve, float) for curve in curves])
    values = values[np.isfinite(values)]
    if not len(values):
        return None, None
    room = 0.1 * float(values.max() - values.min()) or 0.05 * abs(float(values.max())) or 1.0
    return float(values.min()) - room, float(values.max()) + room
