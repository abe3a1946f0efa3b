"""Draws a bench: means with intervals, densities of final results, rates, costs. Panels of `report.ink`.

Comes in: a `Story`. Goes out: panels, in the order of the page. Computes nothing but positions.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lodestar.report.ink import BAND, COLOURS, FAINT, INK, Panel
from lodestar.runs import Direction
from lodestar_bench.report.story import Story
from lodestar_bench.report.words import scale
from lodestar_bench.statistics import density
from lodestar_bench.table import TableRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {
    "means": "mean and its 95 % interval",
    "distribution": "final results",
    "rates": "learning rates, a line for each seed",
    "cost": "what each method used",
}
WIDTH, LINE = 6.4, 0.28  # inches; the height of a figure grows with its lines


def panels(story: Story) -> list[Panel]:
    """What there is to draw."""
    rows = [row for row in story.table.rows if row.finals.count]
    if not rows:
        return []
    drawings = {"means": _means, "distribution": _distribution, "rates": _rates, "cost": _cost}
    wanted = [name for name in drawings if name != "rates" or story.rates]
    return [Panel(name, TITLES[name], _with(drawings[name], story, rows)) for name in wanted]


def _with(draw, story: Story, rows: list[TableRow]):
    return lambda axes: draw(axes, story, rows)


def _lines(axes: "Axes", rows: Sequence[TableRow], least: float = 2.2) -> None:
    """A line for each method, the best on top, its name beside it."""
    figure = axes.get_figure()
    assert figure is not None
    figure.set_size_inches(WIDTH, max(least, 1.0 + LINE * len(rows)))  # pyright: ignore[reportAttributeAccessIssue]
    axes.set_yticks(range(len(rows)), [row.entrant.name for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.9)
    axes.grid(visible=False, axis="y")


def _colour(row: TableRow) -> str:
    return COLOURS[0] if row.entrant.group == "ours" else INK


def _means(axes: "Sequence[Axes]", story: Story, rows: list[TableRow]) -> None:
    from scipy.stats import t

    _lines(axes[0], rows)
    for place, row in enumerate(rows):
        found, factor = row.finals, scale(story)
        reach = 0.0 if found.count < 2 else float(t.ppf(0.975, found.count - 1)) * found.std / math.sqrt(found.count)
        axes[0].errorbar(factor * found.mean, place, xerr=factor * reach, fmt="o", color=_colour(row), markersize=4)
    _metric_axis(axes[0], story)


def _distribution(axes: "Sequence[Axes]", story: Story, rows: list[TableRow]) -> None:
    _lines(axes[0], rows)
    values = {row.entrant.name: [story.results.test(r) for r in story.finals[row.entrant.name]] for row in rows}
    for place, row in enumerate(rows):
        mine = scale(story) * np.array(values[row.entrant.name])
        axes[0].plot(mine, np.full(len(mine), place), "|", color=_colour(row), markersize=6, alpha=0.6)
        found = density(mine.tolist())
        if found is not None:
            x, height = found
            top = place - 0.8 * height / height.max()
            axes[0].fill_between(x, place, top, color=_colour(row), alpha=0.25, linewidth=0)
            axes[0].plot(x, top, color=_colour(row), linewidth=1)
    _keep_apart(axes[0], story, list(values.values()))
    _metric_axis(axes[0], story)


def _keep_apart(axes: "Axes", story: Story, values: list[list[float]]) -> None:
    """A method far worse than the rest must not squeeze them into a line: on that side the axis ends earlier."""
    every = scale(story) * np.concatenate([np.array(mine) for mine in values])
    middles = scale(story) * np.array([np.median(mine) for mine in values])
    middle = float(np.median(middles))
    reach = 6 * max(float(np.subtract(*np.percentile(middles, [75, 25]))), 0.02 * abs(middle))
    sign = 1 if story.facts.direction is Direction.MAX else -1
    outside = int((sign * (middle - every) > reach).sum())
    if outside:
        low, high = axes.get_xlim()
        axes.set_xlim((middle - reach, high) if sign > 0 else (low, middle + reach))
        axes.set_title(f"{outside} worse results lie outside", loc="right", fontsize=8, color=FAINT)


def _rates(axes: "Sequence[Axes]", story: Story, rows: list[TableRow]) -> None:
    del rows
    for curve in story.rates:
        ours = story.table.row(curve.method).entrant.group == "ours"
        first = curve.seed == min(c.seed for c in story.rates if c.method == curve.method)
        axes[0].plot(
            curve.steps,
            curve.rates,
            color=COLOURS[0] if ours else INK,
            linewidth=1.2,
            alpha=0.75 if ours else 1.0,
            label=curve.method if first else None,
        )
    axes[0].set(xlabel="update", ylabel="learning rate")
    axes[0].set_ylim(bottom=0)


def _cost(axes: "Sequence[Axes]", story: Story, rows: list[TableRow]) -> None:
    del story
    _lines(axes[0], rows)
    left = np.zeros(len(rows))
    parts = {"tuning": FAINT, "learning": COLOURS[1], "final": BAND}
    for name, colour in parts.items():
        seconds = np.array([getattr(row.cost, f"{name}_seconds") for row in rows]) / 60
        axes[0].barh(range(len(rows)), seconds, left=left, color=colour, height=0.6, label=name)
        left += seconds
    axes[0].set_xlabel("minutes of one core")


def _metric_axis(axes: "Axes", story: Story) -> None:
    unit = " (%)" if scale(story) != 1 else ""
    if scale(story) != 1:
        axes.set_xlim(right=min(axes.get_xlim()[1], 100.5))  # a kernel density knows no limits
    axes.set_xlabel(f"test {story.facts.metric_name[:40]}{unit}")
