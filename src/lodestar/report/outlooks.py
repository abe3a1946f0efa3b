"""Schedules side by side, drawn: the metric each would give, with its interval, above the learning rates.

Comes in: outlooks of `lodestar.planning`. Goes out: two charts; a PNG, SVG or HTML file of them.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lodestar import _disk
from lodestar.planning.compare import Outlook
from lodestar.report.draw import chart_panel
from lodestar.report.html import Axis, Chart, Line, Mark, Section, Shading, Table, Text, XSpan, write_page
from lodestar.report.html.thin import corners
from lodestar.report.ink import file_bytes

SUFFIXES = (".png", ".svg", ".html")
_MOST_SHADED = 4  # intervals that can be told apart
_EARLY = 0.05  # of the run, which does not set the scale


def outlook_charts(outlooks: Sequence[Outlook], metric: str) -> list[Chart]:
    """The metric, then the learning rate, over the steps; a colour a schedule."""
    total, seen = len(outlooks[0].schedule), outlooks[0].forecast.seen[1]
    spans = [XSpan(0, seen / len(outlooks[0].forecast.times) * total, "seen")] if seen else []
    curves: list[Mark] = []
    rates: list[Mark] = []
    for place, outlook in enumerate(outlooks):
        forecast, style = outlook.forecast, {"group": outlook.name, "colour": place}
        steps = forecast.steps(total)
        if place < _MOST_SHADED:
            interval = forecast.metric.lower[seen:], forecast.metric.upper[seen:]
            curves.append(Shading(f"{outlook.name}, {forecast.level:.0%} interval", steps[seen:], *interval, **style))
        curves.append(Line(outlook.name, steps, forecast.metric.centre, **style))
        rates.append(Line(outlook.name, *_rates(outlook, total), **style))
    low, high = _limits(outlooks)
    x = Axis("step", low=0, high=total)
    return [
        Chart(f"{metric} by schedule", curves, x, Axis(metric, low=low, high=high), spans=spans, wide=True),
        Chart("learning rate", rates, x, Axis("learning rate", low=0.0), spans=spans, wide=True),
    ]


def draw_outlooks(path: Path, outlooks: Sequence[Outlook], metric: str, title: str, notes: Sequence[str]) -> None:
    """Write them: as a page where `path` ends in .html, else as a picture."""
    charts = outlook_charts(outlooks, metric)
    if path.suffix.lower() != ".html":
        _disk.write_whole(path, file_bytes(chart_panel("schedules", charts), path.suffix.lower().removeprefix(".")))
        return
    level = outlooks[0].forecast.level
    rows = [(o.name, f"{o.final:.4g}", f"{o.lower:.4g} to {o.upper:.4g}", f"{o.doubt:.2g}", o.beyond) for o in outlooks]
    table = Table(("schedule", f">final {metric}", f">{level:.0%} interval", ">doubt", "note"), rows)
    write_page(path, title, [Section("Schedules", [table, *map(Text, notes), *charts])])


def _rates(outlook: Outlook, total: int) -> tuple[Sequence[float], Sequence[float]]:
    """What was done, then the schedule itself: sharper than the forecast's own grid."""
    seen, rates = outlook.forecast.seen[1], outlook.schedule.rates
    now = round(seen / len(outlook.forecast.times) * len(rates))
    done = outlook.forecast.steps(total)[:seen], outlook.forecast.lr.centre[:seen]
    rest = np.arange(now + 1, len(rates) + 1) * (total / len(rates)), rates[now:]
    x, y = corners(np.concatenate([done[0], rest[0]]), np.concatenate([done[1], rest[1]]))
    return x.tolist(), y.tolist()


def _limits(outlooks: Sequence[Outlook]) -> tuple[float, float]:
    """Forecasts after the very first part of the run, and the intervals at its end, set the scale."""
    first = int(_EARLY * len(outlooks[0].forecast.times))
    parts = [np.array([*o.forecast.metric.centre[first:], o.lower, o.upper]) for o in outlooks]
    values = np.concatenate(parts)
    room = 0.05 * float(np.ptp(values)) or 1.0
    return float(values.min()) - room, float(values.max()) + room
