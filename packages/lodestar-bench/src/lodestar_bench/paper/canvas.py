"""Paper to draw on: a `Picture` as the bytes of a PNG file, in the ink of every other figure of Lodestar.

Comes in: a picture. Goes out: bytes. `grid` lays out panels, `plain_log` labels an axis. Matplotlib without pyplot: no
global figures. Knows nothing of what is drawn.
"""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from lodestar.report.ink import STYLE, png_bytes
from lodestar_bench.paper.item import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS = 110  # an inch


def picture_bytes(picture: Picture) -> bytes:
    """The picture as a PNG file on white."""
    with _ink():
        return png_bytes(drawn(picture), DOTS)


def drawn(picture: Picture) -> "Figure":
    """The picture as a figure of matplotlib."""
    from matplotlib.figure import Figure

    with _ink():
        figure = Figure(figsize=(picture.width, picture.height))
        figure.set_layout_engine("constrained")
        picture.draw(figure)
    return figure


def _ink() -> AbstractContextManager[None]:
    import matplotlib

    style: dict[Any, Any] = {**matplotlib.rcParamsDefault, **STYLE, "backend": "Agg"}
    return matplotlib.rc_context(style)


def grid(figure: "Figure", rows: int, columns: int, *, share_x: bool = False) -> "list[list[Axes]]":
    """Panels in rows and columns."""
    made = figure.subplots(rows, columns, squeeze=False, sharex=share_x)
    return [list(row) for row in made]


def legend_below(figure: "Figure", axes: "Axes", columns: int = 4) -> None:
    """One legend for all panels, from the labels of one of them, without doubles."""
    handles, labels = axes.get_legend_handles_labels()
    single = dict(zip(labels, handles, strict=True))
    if single:
        figure.legend(list(single.values()), list(single), loc="outside lower center", ncols=columns)


def plain_log(axes: "Axes", which: str = "y") -> None:
    """A logarithmic axis with numbers one reads at once: 0.01, 0.02, 0.05."""
    from matplotlib import ticker

    axis = axes.yaxis if which == "y" else axes.xaxis
    (axes.set_yscale if which == "y" else axes.set_xscale)("log")
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 200 * low else (1.0,)
    axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=8))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, place: f"{value:g}"))
    axis.set_minor_locator(ticker.NullLocator())
