"""Draws sharpness: at the end of training for every method, a panel a task; along training, five panels a task.

Comes in: kept data. Goes out: pictures and charts. The fourth panel holds rate x sharpness / 2 against the edge of
stability: full lines and the line at 1 as in the paper, dashed ones for the preconditioned sharpness and its own line.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lodestar.report.ink import COLOURS, FAINT, INK
from lodestar_bench.paper.canvas import grid, legend_below
from lodestar_bench.paper.item import Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.wording import factor, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lodestar.report.html import Block

PANELS = (
    ("loss", "", "loss"),
    ("lr", "", "learning rate"),
    ("sharpness", "preconditioned_sharpness", "sharpness"),
    ("stability", "preconditioned_stability", "rate x sharpness / 2"),
    ("test", "", "test"),
)
"""What each panel shows, its preconditioned counterpart, and the label."""


def pictures(made: Sequence[Made]) -> list[Picture]:
    """The end in one figure; along training a figure for each task."""
    longest = max(len(methods(one)) for one in made)
    caption = "Largest Hessian eigenvalue at the end of training: a dot a seed, a bar the mean; left is flatter"
    size = (max(4.6, 3.4 * len(made)), 1.1 + 0.25 * longest)
    found = [Picture("end", caption, lambda figure: _end(figure, made), *size)]
    return found + [_along_picture(one) for one in made if len(one["along"])]


def _along_picture(one: Made) -> Picture:
    caption = (
        f"{one.label}: training loss, learning rate, sharpness, stability and test {one.metric_name} along one run. "
        "Dashed: of the Hessian preconditioned as the optimizer does. Grey lines: edges of stability, dotted that of "
        "gradient descent (1), dashed that of the optimizer"
    )
    return Picture(f"along-{one.task}", caption, lambda figure: _along(figure, one), 5.6, 9.0)


def methods(one: Made) -> dict[str, dict[str, Any]]:
    """Each method with its values at the end, the flattest first; those without any last."""
    end = one["end"]
    found = {
        name: {"group": end.where(method=name)["group"][0], "values": end.where(method=name)["sharpness"]}
        for name in dict.fromkeys(end["method"].tolist())
    }
    return dict(sorted(found.items(), key=lambda pair: _mean(pair[1]["values"])))


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else np.inf


def _end(figure: "Figure", made: Sequence[Made]) -> None:
    for axes, one in zip(grid(figure, 1, len(made))[0], made, strict=True):
        rows = methods(one)
        for place, row in enumerate(rows.values()):
            colour = COLOURS[0] if row["group"] == "ours" else INK
            axes.plot(row["values"], np.full(len(row["values"]), place), "o", color=colour, markersize=3.5, alpha=0.7)
            axes.plot(_mean(row["values"]), place, "|", color=colour, markersize=12, markeredgewidth=1.8)
        _log_across(axes)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("largest Hessian eigenvalue")
        axes.set_title(one.label, loc="left")


def _log_across(axes: "Axes") -> None:
    """A logarithmic x axis with plain numbers at 1, 2 and 5."""
    from matplotlib import ticker

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _along(figure: "Figure", one: Made) -> None:
    panels = [row[0] for row in grid(figure, len(PANELS), 1, share_x=True)]
    for axes, (quantity, scaled, label) in zip(panels, PANELS, strict=True):
        times = factor(one.metric_name) if quantity == "test" else 1.0
        for name, colour, curve in curves(one):
            axes.plot(100 * curve["part"], times * curve[quantity], color=colour, label=name)
            if scaled and np.isfinite(curve[scaled]).any():
                axes.plot(100 * curve["part"], curve[scaled], color=colour, linestyle="--", linewidth=1.1)
        axes.set_ylabel(label if quantity != "test" else f"test {one.metric_name[:24]}{' (%)' if times != 1 else ''}")
        if quantity in ("loss", "sharpness", "stability"):
            _log(axes, one["along"][quantity])
        if quantity == "stability":
            _lines(axes, one["lines"])
    panels[0].set_title(one.label, loc="left")
    panels[-1].set_xlabel("part of the run (%)")
    legend_below(figure, panels[0])


def _log(axes: "Axes", values: np.ndarray) -> None:
    """Logarithmic where every value allows it."""
    if np.nanmin(values) > 0:
        axes.set_yscale("log")
    else:
        axes.set_yscale("symlog", linthresh=float(np.nanmax(np.abs(values))) / 1e3)


def _lines(axes: "Axes", lines: Sheet) -> None:
    for place, row in enumerate(lines.rows()):
        axes.axhline(row["line"], color=FAINT, linestyle=":" if place == 0 else "--", linewidth=1.2)
        axes.annotate(
            f"edge, {row['optimiser']}: {row['line']:.3g}", (1, row["line"]), (-2, 2),
            xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=7, color=FAINT, ha="right",
        )  # fmt: skip


def curves(one: Made) -> list[tuple[str, str, Sheet]]:
    """Name, colour and figures of each run that was followed: ours in colours, the plain schedule in black."""
    along, ours = one["along"], 0
    found = []
    for name in dict.fromkeys(along["method"].tolist()):
        curve = along.where(method=name)
        mine = curve["group"][0] == "ours"
        found.append((name, COLOURS[ours] if mine else INK, curve))
        ours += mine
    return found


def charts(made: Sequence[Made]) -> "list[Block]":
    """For each task: the end, and the five panels."""
    return [block for one in made for block in (_chart_of_ends(one), *_charts_along(one))]


def _chart_of_ends(one: Made) -> "Block":
    from lodestar.report.html import Axis, Chart, Scatter

    rows = methods(one)
    series = []
    for group, colour in (("ours", 0), ("others", "ink")):
        chosen = [
            (place, value, f"{name}: {number(value)}")
            for place, (name, row) in enumerate(rows.items())
            for value in row["values"].tolist()
            if (row["group"] == "ours") == (group == "ours") and np.isfinite(value)
        ]
        if chosen:
            places, values, labels = zip(*chosen, strict=True)
            series.append(Scatter(group, places, values, labels, colour=colour))
    y = Axis("largest Hessian eigenvalue", log=all(np.nanmin(row["values"], initial=1) > 0 for row in rows.values()))
    return Chart(f"{one.label}: sharpness at the end", series, x=Axis("", categories=list(rows)), y=y, wide=True)


def _charts_along(one: Made) -> "list[Block]":
    from lodestar.report.html import Axis, Chart, Line, ReferenceLine

    found: list[Block] = []
    for quantity, scaled, label in PANELS if len(one["along"]) else ():
        series = []
        for place, (name, _, curve) in enumerate(curves(one)):
            times = factor(one.metric_name) if quantity == "test" else 1.0
            series.append(Line(name, 100 * curve["part"], times * curve[quantity], colour=place))
            if scaled and np.isfinite(curve[scaled]).any():
                told = f"{name}, preconditioned"
                series.append(Line(told, 100 * curve["part"], curve[scaled], colour=place, dashed=True))
        rules = [ReferenceLine(row["line"], label=f"edge, {row['optimiser']}") for row in one["lines"].rows()]
        log = quantity in ("loss", "sharpness", "stability") and bool(np.nanmin(one["along"][quantity]) > 0)
        found.append(
            Chart(
                f"{one.label}: {label if quantity != 'test' else f'test {one.metric_name}'}",
                series,
                x=Axis("part of the run (%)"),
                y=Axis(label, log=log),
                rules=rules if quantity == "stability" else (),
            )
        )
    return found
