"""Draws the selection test: forecast of the final metric after the first epoch against the truth, the pick in colour.

Comes in: kept data. Goes out: pictures and charts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lodestar.report.ink import COLOURS, FAINT, INK
from lodestar.runs import Direction
from lodestar_bench.paper.canvas import grid
from lodestar_bench.paper.item import Made, Picture
from lodestar_bench.paper.wording import factor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lodestar.report.html import Block

SETS = ("learned from", "never seen")


def pictures(made: Sequence[Made]) -> list[Picture]:
    """One figure: a row for each set of runs, a column for each task."""
    caption = (
        "Final metric forecast from the first epoch against the true one, a dot for each run; orange: the run picked"
    )
    return [
        Picture("selection", caption, lambda figure: _draw(figure, made), max(4.6, 3.3 * len(made)), 3.1 * len(SETS))
    ]


def _draw(figure: "Figure", made: Sequence[Made]) -> None:
    panels = grid(figure, len(SETS), len(made))
    for row, runs in zip(panels, SETS, strict=True):
        for axes, one in zip(row, made, strict=True):
            _panel(axes, one, runs)


def _panel(axes: "Axes", one: Made, runs: str) -> None:
    found, times = one["finals"].where(runs=runs), factor(one.metric_name)
    true, made = times * found["true"], times * found["forecast"]
    middle = float(np.nanmean(true))
    axes.axline((middle, middle), slope=1, color=FAINT, linewidth=1)
    axes.plot(true, made, "o", color=INK, markersize=3.5, alpha=0.5, linewidth=0)
    at = picked(one, found["forecast"])
    axes.plot(true[at], made[at], "o", color=COLOURS[0], markersize=7)
    axes.set_title(f"{one.label}, runs {runs}", loc="left")
    unit = " (%)" if times != 1 else ""
    axes.set(xlabel=f"true {one.metric_name[:24]}{unit}", ylabel="forecast")


def picked(one: Made, forecasts: np.ndarray) -> int:
    """Which run has the best forecast."""
    sign = 1.0 if one.direction is Direction.MAX else -1.0
    return int(np.nanargmax(sign * forecasts))


def charts(made: Sequence[Made]) -> "list[Block]":
    """The same to hover over, with the runs' names."""
    from lodestar.report.html import Axis, Chart, ReferenceLine, Scatter

    found: list[Block] = []
    for one in made:
        for runs in SETS:
            sheet, times = one["finals"].where(runs=runs), factor(one.metric_name)
            at = picked(one, sheet["forecast"])
            here, labels = np.arange(len(sheet)) == at, sheet["run"].tolist()
            series = [
                Scatter("runs", times * sheet["true"][~here], times * sheet["forecast"][~here],
                       [name for i, name in enumerate(labels) if i != at], colour="faint"),
                Scatter("picked", times * sheet["true"][here], times * sheet["forecast"][here], [labels[at]], colour=0,
                       size=6.0),
            ]  # fmt: skip
            title = f"{one.label}: final {one.metric_name}, runs {runs}"
            rules = (ReferenceLine(axis="diagonal"),)
            found.append(Chart(title, series, x=Axis("true"), y=Axis("forecast from the first epoch"), rules=rules))
    return found
