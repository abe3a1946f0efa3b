"""Draws any `Chart` with matplotlib, for PNG and SVG files; pages draw the same charts themselves (`report.html`).

Comes in: charts, one above the other. Goes out: a `Panel`. What only a page can show (labels under the pointer,
captions) is left out. Texts may hold anything: nothing in them is mathematics, and what the font lacks becomes a
mark.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lodestar._extras import need
from lodestar.report.html import Axis, Bars, Chart, Histogram, Line, Mark, ReferenceLine, Scatter, Shading
from lodestar.report.ink import BAND, COLOURS, FAINT, INK, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Dark blue, green, yellow: as readable in grey as in colour (the page's, html/draw.js).
SHADES = ("#44398c", "#3168ac", "#21918c", "#5eb550", "#e4b41e")
LABELS = 12  # categories named on an axis


def chart_panel(name: str, charts: Sequence[Chart], title: str = "") -> Panel:
    """Charts as one file, each under its title; `title` stands in for the first chart's."""

    def draw(axes: "Sequence[Axes]") -> None:
        for place, chart in zip(axes, charts, strict=True):
            draw_chart(place, chart)
            place.set_title(_plain(chart.title), loc="left")

    return Panel(name, _plain(title or charts[0].title), draw, rows=len(charts))


def draw_chart(axes: "Axes", chart: Chart) -> None:
    """Everything on one pair of axes."""
    axes.set(xlabel=_plain(chart.x.label), ylabel=_plain(_cut(chart.y.label)))
    for span in chart.spans:
        axes.axvspan(span.low, span.high, color=BAND, alpha=0.5, linewidth=0)
    entries: dict[str, int] = {}
    for series in sorted(chart.series, key=lambda series: _ORDER.index(type(series))):
        entry = series.group or series.name
        order = entries.setdefault(entry, len(entries))
        label = _plain(entry) if _leads(chart, series) else None
        _series(axes, chart, series, _colour(series, order), label)
    for rule in chart.rules:
        _rule(axes, rule)
    _axis(axes, chart.x, "x")
    _axis(axes, chart.y, "y")


def _leads(chart: Chart, series: Mark) -> bool:
    """Whether the legend shows this one: of each entry a line if it has one, else its first; none where it is alone."""
    peers = [one for one in chart.series if (one.group or one.name) == (series.group or series.name)]
    lines = [one for one in peers if isinstance(one, Line)]
    return len(peers) < len(chart.series) and series is (lines or peers)[0]


_ORDER = (Shading, Histogram, Bars, Line, Scatter)


def _series(axes: "Axes", chart: Chart, series: Mark, colour: Any, label: str | None) -> None:
    if isinstance(series, Line):
        style: dict[str, Any] = {
            "linewidth": 0.7 if series.faint else 0.85 * series.width,
            "alpha": 0.5 if series.faint else 1.0,
        }
        dash = "--" if series.dashed else "-"
        axes.plot(_floats(series.x), _floats(series.y), dash, color=colour, label=label, **style)
    elif isinstance(series, Shading):
        low, high = _floats(series.low), _floats(series.high)
        axes.fill_between(_floats(series.x), low, high, color=colour, alpha=series.strength, linewidth=0, label=label)
    elif isinstance(series, Scatter):
        _points(axes, series, colour, label, sideways=bool(chart.y.categories))
    elif isinstance(series, Bars):
        _bars(axes, chart, series, colour, label)
    else:
        axes.stairs(_floats(series.counts), _floats(series.edges), fill=True, color=colour, alpha=0.55, label=label)


def _points(axes: "Axes", series: Scatter, colour: Any, label: str | None, *, sideways: bool) -> None:
    x, y = _floats(series.x), _floats(series.y)
    if series.low is not None and series.high is not None:
        ends = _floats(series.low), _floats(series.high)
        paint = {"color": colour if series.shades is None else FAINT, "alpha": 0.5, "linewidth": 1.0}
        (axes.hlines if sideways else axes.vlines)(y if sideways else x, *ends, **paint)
    if series.shades is None:
        axes.plot(x, y, "o", color=colour, markersize=series.size, label=label)
    else:
        axes.scatter(x, y, c=_shade(_floats(series.shades)), s=series.size**2, label=label)


def _bars(axes: "Axes", chart: Chart, series: Bars, colour: Any, label: str | None) -> None:
    peers = [one for one in chart.series if isinstance(one, Bars)]
    thick = 0.8 / len(peers)
    at = _floats(series.at) + (peers.index(series) + 0.5) * thick - 0.4
    lying, values = bool(chart.y.categories), _floats(series.values)
    (axes.barh if lying else axes.bar)(at, values, 0.95 * thick, color=colour, label=label)
    if series.low is not None and series.high is not None:
        (axes.hlines if lying else axes.vlines)(at, _floats(series.low), _floats(series.high), color=INK, linewidth=1)


def _rule(axes: "Axes", rule: ReferenceLine) -> None:
    style = {"color": FAINT, "linewidth": 1, "linestyle": "--"}
    if rule.axis == "y":
        axes.axhline(rule.at, **style)
    elif rule.axis == "x":
        axes.axvline(rule.at, **style)
    else:
        axes.axline((0.5, 0.5), slope=1, **style)


def _axis(axes: "Axes", axis: Axis, which: str) -> None:
    """Scale, limits and ticks of one axis."""
    ticker, ticks = need("matplotlib.ticker", "cli"), getattr(axes, f"{which}axis")
    if axis.categories:
        every = -(-len(axis.categories) // LABELS) if which == "x" else 1
        places = range(0, len(axis.categories), every)
        ticks.set_ticks(places, [_plain(_cut(axis.categories[place], 40)) for place in places])
        if which == "y":
            axes.invert_yaxis()  # the first category is on top
        return
    log = axis.log and np.isfinite(getattr(axes.dataLim, f"minpos{which}"))  # else there is nothing to draw
    axes.set(**{f"{which}scale": "log" if log else "linear", f"{which}lim": (axis.low, axis.high)})
    if log:
        ticks.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        ticks.set_minor_locator(ticker.NullLocator())
        ticks.set_major_formatter(ticker.FuncFormatter(lambda value, place: f"{value:g}"))
    if axis.style == "percent":
        ticks.set_major_formatter(ticker.FuncFormatter(lambda value, place: f"{100 * value:g} %"))
    elif axis.style == "count":
        ticks.set_major_locator(ticker.MaxNLocator(integer=True))


def _colour(series: Mark, order: int) -> Any:
    shade = series.shade if isinstance(series, Line) else None
    if shade is not None:
        return _shade(np.array([shade]))[0]
    named = {"ink": INK, "faint": FAINT, None: COLOURS[order % len(COLOURS)]}
    return named[series.colour] if series.colour in named else COLOURS[int(series.colour or 0) % len(COLOURS)]


def _shade(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    colours = need("matplotlib.colors", "cli").LinearSegmentedColormap.from_list("shades", SHADES)
    return colours(np.clip(shares, 0.0, 1.0))


def _plain(text: str) -> str:
    """A text the font can draw."""
    fonts = need("matplotlib.font_manager", "cli")
    known = fonts.get_font(fonts.findfont("DejaVu Sans")).get_charmap()
    return "".join(sign if ord(sign) in known else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _cut(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, float)
