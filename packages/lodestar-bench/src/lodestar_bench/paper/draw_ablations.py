"""Draws the ablations: for each study the mean of every variant with its interval, and the curves of the horizons.

Comes in: kept data. Goes out: pictures for print, charts for the page. The reference of a study is in orange.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lodestar.report.ink import COLOURS, FAINT, INK
from lodestar_bench.paper.canvas import grid, legend_below, plain_log
from lodestar_bench.paper.item import Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.wording import factor, percent, result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lodestar.report.html import Block

TITLES = {
    "parts": "Each part of the preset switched off",
    "samples-noise": "Samples and noise",
    "horizon": "How far ahead the metric is scored",
    "volume": "Seeds in the sweep",
    "diversity": "Shapes in the sweep",
}
CURVES = ("loss", "metric", "lr")


def pictures(made: Sequence[Made]) -> list[Picture]:
    """One for each study that was run, and the horizon's curves."""
    found = [_picture(name, title, made) for name, title in TITLES.items() if having(made, name)]
    with_curves = [one for one in made if "curves" in one.sheets]
    if with_curves:
        caption = "Loss, validation metric and learning rate along training by horizon, means over seeds"
        size = (8.0, 0.8 + 2.3 * len(with_curves))
        found.append(Picture("horizon_curves", caption, lambda figure: _curves(figure, with_curves), *size))
    return found


def having(made: Sequence[Made], study: str) -> list[Made]:
    """The tasks on which a study was run."""
    return [one for one in made if len(one["variants"].where(study=study))]


def label(row: dict[str, Any]) -> str:
    """A variant in few words."""
    if row["study"] == "samples-noise":
        return f"{row['preset']}: n {row['samples']}, noise {row['noise']:g}"
    if row["study"] == "horizon":
        return f"{row['preset']}: {ahead(row['horizon'])}"
    return str(row["variant"])


def ahead(horizon: float) -> str:
    """A horizon in words."""
    return "to the end" if math.isnan(horizon) else f"{percent(horizon)} ahead"


def reach(row: dict[str, Any]) -> float:
    """Half the 95 % interval of the mean."""
    from scipy.stats import t

    if row["count"] < 2:
        return 0.0
    return float(t.ppf(0.975, row["count"] - 1)) * row["std"] / math.sqrt(row["count"])


def _picture(study: str, title: str, made: Sequence[Made]) -> Picture:
    here = having(made, study)
    lines = max(len(one["variants"].where(study=study)) for one in here)
    caption = f"{title}: mean of the test metric and its 95 % interval; orange: what the others are held against"
    size = (max(5.0, 1.6 + 3.4 * len(here)), 1.0 + 0.26 * lines)
    return Picture(study, caption, lambda figure: _means(figure, here, study), *size)


def _means(figure: "Figure", made: Sequence[Made], study: str) -> None:
    for axes, one in zip(grid(figure, 1, len(made))[0], made, strict=True):
        rows, times = list(one["variants"].where(study=study).rows()), factor(one.metric_name)
        for place, row in enumerate(rows):
            colour = COLOURS[0] if row["reference"] else INK
            axes.errorbar(times * row["mean"], place, xerr=times * reach(row), fmt="o", color=colour, markersize=4)
            if row["reference"]:
                axes.axvline(times * row["mean"], color=FAINT, linewidth=0.8)
        axes.set_yticks(range(len(rows)), [label(row) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_title(one.label, loc="left")
        axes.set_xlabel(f"test {one.metric_name[:30]}{' (%)' if times != 1 else ''}")


def _curves(figure: "Figure", made: Sequence[Made]) -> None:
    panels = grid(figure, len(made), len(CURVES))
    for row, one in zip(panels, made, strict=True):
        for axes, quantity in zip(row, CURVES, strict=True):
            _panel(axes, one, quantity)
    legend_below(figure, panels[0][0])


def _panel(axes: "Axes", one: Made, quantity: str) -> None:
    times = factor(one.metric_name) if quantity == "metric" else 1.0
    for place, (name, curve) in enumerate(horizons(one["curves"])):
        there = curve[quantity] > 0 if quantity == "lr" else np.ones(len(curve), bool)
        at, values = 100 * curve["at"][there], times * curve[quantity][there]
        axes.plot(at, values, color=COLOURS[place % len(COLOURS)], label=name)
    if quantity == "lr":
        plain_log(axes)
    axes.set_xlabel("% of the run")
    axes.set_title(
        {"loss": f"{one.label}: loss", "metric": one.metric_name, "lr": "learning rate"}[quantity], loc="left"
    )


def horizons(sheet: Sheet) -> list[tuple[str, Sheet]]:
    """Label and curve of each horizon; of the default preset where both were run."""
    presets = list(dict.fromkeys(sheet["preset"].tolist()))
    here = sheet.where(preset=presets[0])
    found = []
    for variant in dict.fromkeys(here["variant"].tolist()):
        curve = here.where(variant=variant)
        found.append((ahead(float(curve["horizon"][0])), curve))
    return found


def charts(made: Sequence[Made]) -> "list[Block]":
    """For each task and study the means; then the rates by horizon."""
    found: list[Block] = []
    for one in made:
        found += [_chart(one, name, title) for name, title in TITLES.items() if having([one], name)]
        if "curves" in one.sheets:
            found.append(_chart_of_rates(one))
    return found


def _chart(one: Made, study: str, title: str) -> "Block":
    from lodestar.report.html import Axis, Chart, Scatter

    rows, times = list(one["variants"].where(study=study).rows()), factor(one.metric_name)
    series = []
    for name, held, colour in (("reference", 1, 0), ("variants", 0, "ink")):
        places = [i for i, row in enumerate(rows) if row["reference"] == held]
        mean = times * np.array([rows[i]["mean"] for i in places])
        off = times * np.array([reach(rows[i]) for i in places])
        told = [f"{label(rows[i])}: {result(one.metric_name, rows[i]['mean'], rows[i]['std'])}" for i in places]
        series.append(Scatter(name, places, mean, told, mean - off, mean + off, colour=colour))
    x = Axis("", categories=[label(row) for row in rows])
    return Chart(f"{one.label}: {title.lower()}", series, x=x, y=Axis(f"test {one.metric_name}"), wide=True)


def _chart_of_rates(one: Made) -> "Block":
    from lodestar.report.html import Axis, Chart, Line

    lines = []
    for name, curve in horizons(one["curves"]):
        there = curve["lr"] > 0  # the axis is logarithmic
        lines.append(Line(name, 100 * curve["at"][there], curve["lr"][there]))
    title = f"{one.label}: learning rate by horizon, mean over seeds"
    return Chart(title, lines, x=Axis("% of the run"), y=Axis("learning rate", log=True), wide=True)
