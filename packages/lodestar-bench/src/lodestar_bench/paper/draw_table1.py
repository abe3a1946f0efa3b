"""Draws Table 1: means with their intervals, and the distributions of final results, a panel for each task.

Comes in: kept data. Goes out: pictures for print, charts for the page. Ours is in colour. Distributions show the three
best methods and ours, as the paper's figure does.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lodestar.report.ink import COLOURS, FAINT, INK
from lodestar_bench.paper.canvas import grid
from lodestar_bench.paper.item import Made, Picture
from lodestar_bench.paper.wording import factor, p_value, result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lodestar.report.html import Block

SHOWN = 3


def pictures(made: Sequence[Made]) -> list[Picture]:
    """Both figures."""
    lines = max(len(one["table"]) for one in made)
    wide = 0.6 + 3.4 * len(made)
    return [
        Picture(
            "means",
            "Mean of the test metric and its 95 % interval; Lodestar in orange",
            lambda figure: _means(figure, made),
            max(4.6, wide),
            1.0 + 0.24 * lines,
        ),
        Picture(
            "distributions",
            "Distribution of final results over seeds: the three best methods and Lodestar (kernel density; a tick "
            "for each seed)",
            lambda figure: _distributions(figure, made),
            max(4.6, 3.3 * len(made)),
            3.0,
        ),
    ]


def shown(one: Made) -> list[str]:
    """The three best, and the best of ours if it is not among them."""
    names, groups = one["table"]["method"].tolist(), one["table"]["group"].tolist()
    ours = [name for name, group in zip(names, groups, strict=True) if group == "ours"][:1]
    return list(dict.fromkeys([*names[:SHOWN], *ours]))


def _means(figure: "Figure", made: Sequence[Made]) -> None:
    for axes, one in zip(grid(figure, 1, len(made))[0], made, strict=True):
        rows, times = list(one["table"].rows()), factor(one.metric_name)
        for place, row in enumerate(rows):
            colour = COLOURS[0] if row["group"] == "ours" else INK
            axes.errorbar(times * row["mean"], place, xerr=times * reach(row), fmt="o", color=colour, markersize=4)
        axes.set_yticks(range(len(rows)), [row["method"] for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        _label(axes, one)


def reach(row: dict[str, float]) -> float:
    """Half the 95 % interval of the mean."""
    from scipy.stats import t

    if row["count"] < 2:
        return 0.0
    return float(t.ppf(0.975, row["count"] - 1)) * row["std"] / math.sqrt(row["count"])


def _distributions(figure: "Figure", made: Sequence[Made]) -> None:
    for axes, one in zip(grid(figure, 1, len(made))[0], made, strict=True):
        times = factor(one.metric_name)
        for name, colour in zip(shown(one), colours(one), strict=True):
            curve = one["density"].where(method=name)
            axes.plot(times * curve["at"], curve["height"] / times, color=colour, label=name)
            axes.fill_between(times * curve["at"], 0, curve["height"] / times, color=colour, alpha=0.15, linewidth=0)
            ticks = times * one["results"].where(method=name)["test"]
            axes.plot(ticks, np.zeros(len(ticks)), "|", color=colour, markersize=7, clip_on=False)
        axes.set_ylim(bottom=0)
        axes.set_yticks([])
        axes.legend(loc="upper left")
        _label(axes, one)


def colours(one: Made) -> list[str]:
    """Ours is orange; the others take the rest."""
    others = iter((*COLOURS[1:], FAINT))
    group = dict(zip(one["table"]["method"].tolist(), one["table"]["group"].tolist(), strict=True))
    return [COLOURS[0] if group[name] == "ours" else next(others) for name in shown(one)]


def _label(axes: "Axes", one: Made) -> None:
    unit = " (%)" if factor(one.metric_name) != 1 else ""
    axes.set_xlabel(f"test {one.metric_name[:30]}{unit}")
    axes.set_title(one.label, loc="left")


def charts(made: Sequence[Made]) -> "list[Block]":
    """For each task: means, distributions, the table."""
    return [block for one in made for block in (_chart_of_means(one), _chart_of_densities(one), _sheet(one))]


def _chart_of_means(one: Made) -> "Block":
    from lodestar.report.html import Axis, Chart, Scatter

    rows, times = list(one["table"].rows()), factor(one.metric_name)
    series = []
    for group, colour in (("ours", 0), ("others", "ink")):
        places = [i for i, row in enumerate(rows) if (row["group"] == "ours") == (group == "ours")]
        mean = times * np.array([rows[i]["mean"] for i in places])
        off = times * np.array([reach(rows[i]) for i in places])
        labels = [f"{rows[i]['title']}: {result(one.metric_name, rows[i]['mean'], rows[i]['std'])}" for i in places]
        # Lying down: the categories are on y, so the whisker of x is told in the label.
        series.append(Scatter(group, places, mean, labels, mean - off, mean + off, colour=colour))
    x = Axis("", categories=[row["method"] for row in rows])
    return Chart(f"{one.label}: mean and 95 % interval", series, x=x, y=Axis(f"test {one.metric_name}"), wide=True)


def _chart_of_densities(one: Made) -> "Block":
    from lodestar.report.html import Axis, Chart, Line

    times = factor(one.metric_name)
    series = []
    for name in one["table"]["method"].tolist():
        curve = one["density"].where(method=name)
        if len(curve):
            series.append(Line(name, times * curve["at"], curve["height"] / times))
    return Chart(f"{one.label}: distribution of final results", series, x=Axis(f"test {one.metric_name}"), wide=True)


def _sheet(one: Made) -> "Block":
    from lodestar.report.html import Table

    heads = ["method", "set to", f">test {one.metric_name}", ">worst", ">seeds", "best other", ">p"]
    rows = [
        [
            row["title"],
            row["set_to"],
            result(one.metric_name, row["mean"], row["std"]),
            result(one.metric_name, row["worst"]),
            str(row["count"]),
            row["other"],
            p_value(row["p"]),
        ]
        for row in one["table"].rows()
    ]
    return Table(heads, rows, caption=f"{one.label}: mean and standard deviation over fresh seeds")
