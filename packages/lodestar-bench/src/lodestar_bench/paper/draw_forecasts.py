"""Draws the forecasts: true against forecast runs, errors by how much was seen and by tolerance, the solver's steps.

Comes in: kept data. Goes out: pictures and charts. Black is the truth, orange the forecast, grey what was seen.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.evaluation import OURS
from lodestar.report.ink import BAND, COLOURS, FAINT, INK
from lodestar_bench.paper.canvas import grid, legend_below, plain_log
from lodestar_bench.paper.item import Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.tell_forecasts import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lodestar.report.html import Block

TICKS = (2, 5, 10, 20, 50, 100)
SHOWN = "median"
PLACES = np.linspace(0.0, 1.0, 101)


def pictures(made: Sequence[Made]) -> list[Picture]:
    """For each task its curves and errors; the solver of all tasks together."""
    found = [
        picture
        for one in made
        for picture in (
            Picture(
                f"curves-{one.task}",
                f"{one.task}: the {SHOWN} of the tested runs (black) and its forecast (orange, with its 80 % interval) "
                "from the grey part, 5 % on the left, 50 % on the right",
                _with(_curves, one),
                7.0,
                5.6,
            ),
            Picture(
                f"tolerance-{one.task}",
                f"{one.task}: relative MSE against how much of a run was seen, a column for each tolerance of the "
                "solver; shading: one standard deviation over runs",
                _with(_tolerances, one),
                7.0,
                5.6,
            ),
        )
    ]
    solver = "The adaptive solver's step size and evaluations so far along a run (Tsit5 at 1e-5); bold: the mean"
    return [*found, Picture("solver", solver, lambda figure: _solver(figure, made), 7.0, 2.7 * len(made))]


def _with(draw, one: Made):
    return lambda figure: draw(figure, one)


def _curves(figure: "Figure", one: Made) -> None:
    sheet = one["curves"].where(example=SHOWN)
    seen = sorted(set(sheet["seen"].tolist()))
    panels = grid(figure, len(TITLES), len(seen), share_x=True)
    for row, (name, title) in zip(panels, TITLES.items(), strict=True):
        for axes, part in zip(row, seen, strict=True):
            _curve(axes, sheet.where(quantity=name, seen=part), part)
        row[0].set_ylabel(one.metric_name[:24] if name == "metric" else title)
    for axes, part in zip(panels[0], seen, strict=True):
        axes.set_title(f"{100 * part:.3g} % seen", loc="left")
    for axes in panels[-1]:
        axes.set_xlabel("part of the run (%)")
    legend_below(figure, panels[0][0])


def _curve(axes: "Axes", curve: Sheet, seen: float) -> None:
    at, fine = 100 * curve["part"], np.isfinite(curve["truth"])
    axes.axvspan(0, 100 * seen, color=BAND, alpha=0.5, linewidth=0)
    logged = np.isfinite(curve["logged"])
    axes.plot(at[logged], curve["logged"][logged], color=FAINT, linewidth=0.7, label="as logged")
    axes.plot(at[fine], curve["truth"][fine], color=INK, linewidth=1.4, label="truth")
    axes.fill_between(
        at, curve["lower"], curve["upper"], color=COLOURS[0], alpha=0.2, linewidth=0, label="80 % interval"
    )
    axes.plot(at, curve["forecast"], color=COLOURS[0], label="forecast")
    inside = np.concatenate([curve["truth"][fine], curve["forecast"]])
    room = 0.1 * (inside.max() - inside.min())
    axes.set_ylim(inside.min() - room, inside.max() + room)


def _tolerances(figure: "Figure", one: Made) -> None:
    sheet = one["tolerance"].where(forecaster=OURS, solver="tsit5")
    levels = sorted(set(sheet["tolerance"].tolist()), reverse=True)
    panels = grid(figure, len(TITLES), len(levels), share_x=True)
    for row, (name, title) in zip(panels, TITLES.items(), strict=True):
        for axes, level in zip(row, levels, strict=True):
            curve = sheet.where(quantity=name, tolerance=level)
            seen, mean, std = 100 * curve["seen"], curve["mean"], curve["std"]
            axes.fill_between(
                seen, np.maximum(mean - std, mean / 10), mean + std, color=COLOURS[0], alpha=0.2, linewidth=0
            )
            axes.plot(seen, mean, color=COLOURS[0])
            axes.set_xscale("log")
            axes.set_xticks(TICKS, map(str, TICKS))
            axes.minorticks_off()
            plain_log(axes)
        row[0].set_ylabel(title)
    for axes, level in zip(panels[0], levels, strict=True):
        axes.set_title(f"tolerance {level:g}", loc="left")
    for axes in panels[-1]:
        axes.set_xlabel("seen (%)")


def _solver(figure: "Figure", made: Sequence[Made]) -> None:
    for row, one in zip(grid(figure, len(made), 2), made, strict=True):
        sizes, spent = along(one["steps"])
        for axes, curves, title in zip(row, (sizes, spent), ("step size", "evaluations so far"), strict=True):
            axes.plot(100 * PLACES, curves.T, color=FAINT, alpha=0.3, linewidth=0.6, rasterized=True)
            axes.plot(100 * PLACES, curves.mean(axis=0), color=COLOURS[0], linewidth=2.2)
            axes.set(xlabel="part of the run (%)", ylabel=title)
            axes.set_title(one.label, loc="left")
        plain_log(row[0])


def along(steps: Sheet) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Step size and evaluations so far of each run at evenly spaced places: (runs, places) each."""
    sizes, spent = [], []
    for run in np.unique(steps["run"]):
        one = steps.where(run=run)
        at = np.clip(np.searchsorted(one["start"], PLACES, side="right") - 1, 0, len(one) - 1)
        sizes.append(one["size"][at])
        spent.append(np.interp(PLACES, [0.0, *(one["start"] + one["size"])], [1, *one["evaluations"]]))
    return np.array(sizes), np.array(spent)


def charts(made: Sequence[Made]) -> "list[Block]":
    """Curves of the median run, errors by tolerance, evaluations."""
    return [block for one in made for block in (*_curve_charts(one), *_error_charts(one), _solver_chart(one))]


def _curve_charts(one: Made) -> "list[Block]":
    from lodestar.report.html import Axis, Chart, Line, Shading, XSpan

    found: list[Block] = []
    sheet = one["curves"].where(example=SHOWN)
    for name, title in TITLES.items():
        for seen in sorted(set(sheet["seen"].tolist())):
            curve = sheet.where(quantity=name, seen=seen)
            at = 100 * curve["part"]
            series = [
                Line("truth", at, curve["truth"], colour="ink"),
                Shading("80 % interval", at, curve["lower"], curve["upper"], colour=0),
                Line("forecast", at, curve["forecast"], colour=0),
            ]
            spans = (XSpan(0, 100 * seen, "seen"),)
            text = f"{one.label}: {title}, {100 * seen:.3g} % seen"
            found.append(Chart(text, series, x=Axis("part of the run (%)"), y=Axis(title), spans=spans))
    return found


def _error_charts(one: Made) -> "list[Block]":
    from lodestar.report.html import Axis, Chart, Line

    found: list[Block] = []
    for name, title in TITLES.items():
        sheet = one["tolerance"].where(quantity=name)
        series = []
        for level in sorted({x for x in sheet["tolerance"].tolist() if x == x}, reverse=True):
            curve = sheet.where(tolerance=level)
            series.append(Line(f"tolerance {level:g}", 100 * curve["seen"], curve["mean"]))
        for rival in [x for x in dict.fromkeys(sheet["forecaster"].tolist()) if x != OURS]:
            curve = sheet.where(forecaster=rival)
            series.append(Line(rival, 100 * curve["seen"], curve["mean"], dashed=True))
        x, y = Axis("part of the run seen (%)", log=True), Axis("relative MSE", log=True)
        found.append(Chart(f"{one.label}: error of the {title}", series, x=x, y=y))
    return found


def _solver_chart(one: Made) -> "Block":
    from lodestar.report.html import Axis, Chart, Line

    _, spent = along(one["steps"])
    series = [
        Line(f"run {i}", 100 * PLACES[::5], curve[::5], group="runs", faint=True) for i, curve in enumerate(spent)
    ]
    series.append(Line("mean", 100 * PLACES, spent.mean(axis=0), colour=0, width=3))
    return Chart(f"{one.label}: evaluations so far", series, x=Axis("part of the run (%)"), y=Axis("evaluations"))
