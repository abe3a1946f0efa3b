"""Ink and paper: how every figure looks, and how it becomes SVG or PNG. Matplotlib without pyplot: no global figures.

Comes in: functions that draw on axes. Goes out: bytes of a PNG or SVG file, or SVG for a page, whose black and grey are
the page's own (CSS variables), so that one drawing serves light and dark. Knows nothing of what is drawn.
"""

import dataclasses
import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lodestar._extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, BAND = "#1b1b1f", "#9a9aa2", "#c9c9d1"  # replaced by CSS variables in a page
COLOURS = ("#e4632b", "#3b82c4", "#2f9e6e", "#9467bd", "#b8860b")  # readable on white and on near-black
_VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)", BAND: "var(--band)"}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "lodestar",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
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
    "grid.color": BAND,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.6,
    "figure.dpi": 100,
}


@dataclasses.dataclass(frozen=True)
class Panel:
    """One drawing: `name` for a file, `title` above it, and how to draw it on `rows` axes, one above the other.

    Its legend, if any, stands below. `caption` is plain text for a page: a run's name is never drawn, since it may hold
    anything.
    """

    name: str
    title: str
    draw: "Callable[[Sequence[Axes]], None]"
    rows: int = 1
    caption: str = ""


def svg_for_page(panel: Panel) -> str:
    """An <svg> element that fills its column and takes ink and faint lines from the page's CSS."""
    text = _saved(panel, "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r' id="(?:figure|axes|patch|text|line2d|legend|matplotlib\.axis|[A-Za-z]*Collection)_\d+"', "", text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text.replace("<svg ", f'<svg role="img" aria-label="{panel.name}" ', 1)


def file_bytes(panel: Panel, kind: str) -> bytes:
    """The panel as a PNG or SVG file on white."""
    return _saved(panel, kind, facecolor="white", dpi=160)


def _saved(panel: Panel, kind: str, **options: Any) -> bytes:
    matplotlib = need("matplotlib", "cli")
    buffer = io.BytesIO()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE, "backend": "Agg"}):
        figure = _figure(panel)
        clear = {} if "facecolor" in options else {"transparent": True}
        stamp = {"metadata": {"Date": None}} if kind == "svg" else {}
        figure.savefig(buffer, format=kind, **clear, **stamp, **options)
    return buffer.getvalue()


def _figure(panel: Panel) -> "Figure":
    figure = need("matplotlib.figure", "cli").Figure(figsize=(4.6, 3.4 if panel.rows == 1 else 1.75 * panel.rows))
    axes = figure.subplots(panel.rows, 1, sharex=True, squeeze=False)[:, 0]
    figure.set_layout_engine("constrained")
    panel.draw(list(axes))
    axes[0].set_title(panel.title, loc="left")
    handles, labels = axes[-1].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure
