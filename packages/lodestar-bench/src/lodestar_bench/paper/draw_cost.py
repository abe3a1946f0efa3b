"""Draws what an epoch costs: a bar for each kind, the method's own work on top of the updates.

Comes in: kept data. Goes out: pictures and charts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lodestar.report.ink import BAND, COLOURS, INK
from lodestar_bench.paper.canvas import grid, legend_below
from lodestar_bench.paper.item import Made, Picture
from lodestar_bench.paper.tell_cost import rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lodestar.report.html import Block


def pictures(made: Sequence[Made]) -> list[Picture]:
    """One figure."""
    caption = (
        "Seconds an epoch takes (processor time of one thread, without evaluations): updates, and on top of them the "
        "method's own work; whiskers: one standard deviation of five trials"
    )
    lines = max(len(one["epoch"]) for one in made)
    width = max(5.5, 2.4 + 2.7 * len(made))
    return [Picture("epoch", caption, lambda figure: _draw(figure, made), width, 1.2 + 0.27 * lines)]


def _draw(figure: "Figure", made: Sequence[Made]) -> None:
    panels = grid(figure, 1, len(made))[0]
    for place, (axes, one) in enumerate(zip(panels, made, strict=True)):
        found = rows(one)
        at = np.arange(len(found))
        updates = np.array([row["update_seconds"] for _, _, row in found])
        own = np.array([row["own_seconds"] for _, _, row in found])
        axes.barh(at, updates, color=BAND, height=0.65, label="updates")
        axes.barh(at, own, left=updates, color=COLOURS[0], height=0.65, label="own work")
        std = [row["std"] for _, _, row in found]
        axes.errorbar(updates + own, at, xerr=std, fmt="none", ecolor=INK, elinewidth=1)
        axes.set_yticks(at, [name for name, _, _ in found] if place == 0 else [""] * len(found))
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set_xlabel("seconds an epoch")
        axes.set_title(one.label, loc="left")
        axes.grid(visible=False, axis="y")
    legend_below(figure, panels[0])


def charts(made: Sequence[Made]) -> "list[Block]":
    """The same to hover over, relative to a plain schedule."""
    from lodestar.report.html import Axis, Bars, Chart

    found: list[Block] = []
    for one in made:
        lines = rows(one)
        names = [name for name, _, _ in lines]
        at = np.arange(len(lines))
        seconds = np.array([row["seconds"] for _, _, row in lines])
        std = np.array([row["std"] for _, _, row in lines])
        series = [Bars("seconds an epoch", at, seconds, seconds - std, seconds + std)]
        y = Axis("", categories=names)
        found.append(Chart(f"{one.label}: seconds an epoch", series, x=Axis("seconds"), y=y, wide=True, height=340))
    return found
