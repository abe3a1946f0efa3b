"""Draws the map: a row of panels for each schedule family, coloured by time, loss, metric and learning rate.

Comes in: kept data. Goes out: pictures and charts. Grey are the pieces of all other families.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lodestar.report.ink import BAND
from lodestar_bench.paper.canvas import grid
from lodestar_bench.paper.item import Made, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lodestar.report.html import Block

COLUMNS = {"part": "time (part of the run)", "loss": "train loss", "metric": "metric", "lr": "learning rate"}
LOGARITHMIC = ("loss", "lr")


def pictures(made: Sequence[Made]) -> list[Picture]:
    """One for each task."""
    return [
        Picture(
            f"map-{one.task}",
            f"{one.task}: pieces of runs in latent space ({one.record['notes'][0]}), a row for each schedule family, "
            "coloured by time, train loss, metric and learning rate; grey: the other families",
            _drawing(one),
            8.0,
            0.6 + 1.75 * len(families(one)),
        )
        for one in made
    ]


def families(one: Made) -> list[str]:
    """In the order of the sheet."""
    return list(dict.fromkeys(one["points"]["family"].tolist()))


def _drawing(one: Made):
    return lambda figure: _draw(figure, one)


def _draw(figure: "Figure", one: Made) -> None:
    sheet, names = one["points"], families(one)
    panels = grid(figure, len(names), len(COLUMNS))
    clouds = {}
    for row, family in zip(panels, names, strict=True):
        here = sheet["family"] == family
        for axes, what in zip(row, COLUMNS, strict=True):
            colour = scaled(sheet, what)
            low, high = np.nanpercentile(colour, [1, 99])
            axes.scatter(sheet["x"][~here], sheet["y"][~here], s=1, color=BAND, linewidths=0, rasterized=True)
            limits = {"vmin": low, "vmax": high, "cmap": "viridis"}
            clouds[what] = axes.scatter(
                sheet["x"][here], sheet["y"][here], c=colour[here], s=3, linewidths=0, rasterized=True, **limits
            )
            axes.set_xticks([])
            axes.set_yticks([])
        row[0].set_ylabel(family)
    for place, (what, title) in enumerate(COLUMNS.items()):
        panels[0][place].set_title(one.metric_name[:20] if what == "metric" else title, fontsize=9)
        column = [row[place] for row in panels]
        bar = figure.colorbar(clouds[what], ax=column, location="bottom", fraction=0.03, pad=0.01, aspect=30)
        bar.ax.tick_params(labelsize=7)
        bar.ax.locator_params(axis="x", nbins=4)
        if what in LOGARITHMIC:
            bar.ax.xaxis.set_major_formatter(lambda value, place: f"{10**value:.2g}")


def scaled(sheet, what: str) -> NDArray[np.float64]:
    """A quantity as it is coloured: loss and learning rate by their logarithm."""
    values = np.asarray(sheet[what], dtype=float)
    return np.log10(np.maximum(values, 1e-8)) if what in LOGARITHMIC else values


def charts(made: Sequence[Made]) -> "list[Block]":
    """All families in one cloud for each quantity, to hide and show."""
    from lodestar.report.html import Axis, Chart, Scatter, Shades

    found: list[Block] = []
    for one in made:
        sheet = one["points"]
        for what, title in COLUMNS.items():
            colour = scaled(sheet, what)
            low, high = (float(x) for x in np.nanpercentile(colour, [1, 99]))
            shade = np.clip((colour - low) / max(high - low, 1e-12), 0, 1)
            log = what in LOGARITHMIC
            ends = (10**low, 10**high) if log else (low, high)
            series = []
            for family in families(one):
                here = np.flatnonzero(sheet["family"] == family)[::2]  # half of the pieces: the page stays light
                series.append(Scatter(family, sheet["x"][here], sheet["y"][here], shades=shade[here], size=2.5))
            shades = Shades(title, *ends, log=log)
            found.append(Chart(f"{one.label}: map by {title}", series, x=Axis(""), y=Axis(""), shades=shades))
    return found
