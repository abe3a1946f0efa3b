"""Ink and paper: how every drawn file looks, and how it becomes PNG or SVG.

Comes in: functions that draw on axes. Goes out: bytes of a file on white. Matplotlib without pyplot: no global figures.
Knows nothing of what is drawn.
"""

import dataclasses
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lodestar._extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, BAND = "#1c1d22", "#9a9aa2", "#c9c9d1"
COLOURS = (  # the page's own, in its light theme (html/style.css)
    *("#d9541e", "#2b72c0", "#20875b", "#8a56b8", "#a67c00"),
    *("#0d8a94", "#c73d7b", "#6b7280", "#5c7a1f", "#8b5a3c"),
)
DOTS = 160  # an inch
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "lodestar",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "text.parse_math": False,
    "axes.titlesize": 10,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": BAND,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.6,
    "figure.dpi": 100,
}


@dataclasses.dataclass(frozen=True)
class Panel:
    """One file: its `name`, the `title` above it, and how to draw it on `rows` axes, one above the other.

    Its legend, if any, stands below.
    """

    name: str
    title: str
    draw: "Callable[[Sequence[Axes]], None]"
    rows: int = 1


def file_bytes(panel: Panel, kind: str) -> bytes:
    """The panel as a PNG or SVG file."""
    matplotlib, buffer = need("matplotlib", "cli"), io.BytesIO()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "backend": "Agg"}):
        figure = _figure(panel)
        if kind == "png":
            return png_bytes(figure, DOTS)
        stamp: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
        figure.savefig(buffer, format=kind, facecolor="white", **stamp)
    return buffer.getvalue()


def png_bytes(figure: "Figure", dots: int) -> bytes:
    """A figure as a PNG file of at most 256 colours: a third of the size of one that names each pixel's own."""
    from PIL import Image  # comes with matplotlib

    whole, small = io.BytesIO(), io.BytesIO()
    figure.savefig(whole, format="png", facecolor="white", dpi=dots)
    with Image.open(whole) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def _figure(panel: Panel) -> "Figure":
    height = 3.4 if panel.rows == 1 else 2.2 * panel.rows
    figure = need("matplotlib.figure", "cli").Figure(figsize=(4.6, height))
    axes = figure.subplots(panel.rows, 1, squeeze=False)[:, 0]
    figure.set_layout_engine("constrained")
    panel.draw(list(axes))
    axes[0].set_title(panel.title, loc="left")
    entries = {label: mark for one in axes for mark, label in zip(*one.get_legend_handles_labels(), strict=True)}
    if entries:
        figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=2)
    return figure
