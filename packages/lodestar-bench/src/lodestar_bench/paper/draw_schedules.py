"""Draws the generated schedules, a line for each seed, over the best plain schedule in black; a panel for each task.

Comes in: kept data. Goes out: pictures and charts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lodestar.report.ink import COLOURS, INK
from lodestar_bench.paper.canvas import grid
from lodestar_bench.paper.item import Made, Picture
from lodestar_bench.paper.sheet import Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lodestar.report.html import Block


def pictures(made: Sequence[Made]) -> list[Picture]:
    """One figure."""
    caption = "Learning rates of five seeds of Lodestar against the best plain schedule of each task (black)"
    width, height = max(4.6, 3.6 * len(made)), 3.0
    return [Picture("schedules", caption, lambda figure: _draw(figure, made), width, height)]


def lines(one: Made) -> list[tuple[str, str, int, Sheet]]:
    """Method, kind, seed and rates of each run shown."""
    rates = one["rates"]
    keys = dict.fromkeys(zip(*(rates[name].tolist() for name in ("method", "kind", "seed")), strict=True))
    return [(m, k, s, rates.where(method=m, kind=k, seed=s)) for m, k, s in keys]


def _draw(figure: "Figure", made: Sequence[Made]) -> None:
    for axes, one in zip(grid(figure, 1, len(made))[0], made, strict=True):
        colours: dict[str, str] = {}
        for method, kind, _, curve in lines(one):
            label = method if method not in colours else None
            colours.setdefault(method, INK if kind == "plain" else COLOURS[len(colours)])
            width = 1.8 if kind == "plain" else 1.1
            axes.plot(100 * curve["part"], curve["lr"], color=colours[method], linewidth=width, alpha=0.8, label=label)
        axes.set(xlabel="part of the run (%)", ylabel="learning rate")
        axes.set_ylim(bottom=0)
        axes.set_title(one.label, loc="left")
        axes.legend()


def charts(made: Sequence[Made]) -> "list[Block]":
    """The same to hover over."""
    from lodestar.report.html import Axis, Chart, Line

    found: list[Block] = []
    for one in made:
        series = [
            Line(
                f"{method}, seed {seed}",
                100 * curve["part"],
                curve["lr"],
                group=method,
                colour="ink" if kind == "plain" else None,
                width=2.2 if kind == "plain" else 1.3,
            )
            for method, kind, seed, curve in lines(one)
        ]
        axis = Axis("part of the run (%)")
        found.append(Chart(f"{one.label}: learning rates", series, x=axis, y=Axis("learning rate"), wide=True))
    return found
