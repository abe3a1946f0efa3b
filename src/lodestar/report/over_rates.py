"""How the best rate moves with size, drawn: the final metric over the peak rate, and the best rate over the size.

Comes in: the curves of `lodestar.planning.over_rates`, past runs and the job's own runs as points. Goes out: two
charts; a PNG, SVG or HTML file of them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lodestar import _disk
from lodestar.planning.over_rates import OverRates, RateCurve
from lodestar.report.draw import chart_panel
from lodestar.report.html import Axis, Chart, Line, Mark, Scatter, Section, Shading, Text, XSpan, write_page
from lodestar.report.ink import file_bytes

_ROOM = 0.15  # of the height of the curves, above and below them


class Ended(NamedTuple):
    """A run that has ended: its value of the quantity, its peak rate, its final metric, its name."""

    value: float
    peak_lr: float
    final: float
    name: str


def rate_charts(found: OverRates, metric: str, past: Sequence[Ended] = (), job: Sequence[Ended] = ()) -> list[Chart]:
    """A colour for each size; the job's in ink. `past` and `job` are runs of the sweep and of the job itself."""
    return [_over_rate(found, metric, past, job), _over_size(found, job)]


def draw_rates(path: Path, found: OverRates, metric: str, title: str, notes: Sequence[str]) -> None:
    """Write them: as a page where `path` ends in .html, else as a picture."""
    charts = rate_charts(found, metric)
    if path.suffix.lower() != ".html":
        _disk.write_whole(path, file_bytes(chart_panel("rates", charts), path.suffix.lower().removeprefix(".")))
        return
    write_page(path, title, [Section("How the best rate moves", [*map(Text, notes), *charts])])


def _over_rate(found: OverRates, metric: str, past: Sequence[Ended], job: Sequence[Ended]) -> Chart:
    what = found.quantity.name.replace("_", " ")
    series: list[Mark] = []
    for place, curve in enumerate(found.curves):
        series += _curve(curve, f"{what} {curve.value:.4g}", place)
        near = [run for run in past if _nearest(found, run.value) == place]
        if near:
            series.append(_points(near, f"{what} {curve.value:.4g}", place, 3.0))
    if found.job is not None:
        name = f"the job, {what} {found.job.value:.4g}"
        series.append(
            Shading(f"{name}, 80 % interval", found.job.peaks, found.job.lower, found.job.upper, name, "ink", 0.1)
        )
        series += _curve(found.job, name, "ink")
    if job:
        series.append(_points(job, "where the job was run", 5, 6.0))
    spans = [XSpan(*found.reach, "the job's best rate, 80 %")] if found.reach else []
    low, high = _limits(found, [run.final for run in job])
    return Chart(
        f"final {metric} over the peak rate",
        series,
        Axis("peak learning rate", log=True),
        Axis(f"final {metric}", low=low, high=high),
        "Forecast for one shape of schedule, a curve for each size; a ring marks the best rate of each.",
        spans,
        wide=True,
    )


def _curve(curve: RateCurve, name: str, colour: int | str) -> list[Mark]:
    top = int(np.argmin(np.abs(curve.peaks - curve.best)))
    return [
        Line(name, curve.peaks, curve.centre, name, colour),
        Scatter(
            f"{name}: best",
            [curve.best],
            [curve.centre[top]],
            [f"{name}: best at {curve.best:.3g}"],
            group=name,
            colour=colour,
            size=6.0,
        ),
    ]


def _points(runs: Sequence[Ended], group: str, colour: int | str, size: float) -> Scatter:
    x, y = [run.peak_lr for run in runs], [run.final for run in runs]
    return Scatter(f"{group}: runs", x, y, [run.name for run in runs], group=group, colour=colour, size=size)


def _nearest(found: OverRates, value: float) -> int:
    return int(np.argmin([abs(np.log(curve.value / value)) for curve in found.curves]))


def _limits(found: OverRates, finals: Sequence[float]) -> tuple[float, float]:
    """The upper part of the curves: far too high a rate goes down without end."""
    curves = [*found.curves, *([found.job] if found.job else [])]
    middle = np.concatenate([curve.centre[len(curve.centre) // 4 : -len(curve.centre) // 4] for curve in curves])
    values = np.concatenate([middle, np.asarray(finals, dtype=np.float64)])
    room = _ROOM * float(np.ptp(values)) or 1.0
    return float(values.min()) - room, float(values.max()) + room


def _over_size(found: OverRates, job: Sequence[Ended]) -> Chart:
    what = found.quantity.name.replace("_", " ")
    value, best, low, high = found.line.T
    series: list[Mark] = [
        Shading("80 % interval", value, low, high, "the law", 0),
        Line("the law", value, best, "the law", 0),
        _bests(found.curves, "past runs' sizes", 0, 4.0),
    ]
    if found.job is not None:
        series.append(_bests([found.job], "the job, leaning low", "ink", 6.0))
    if job:
        series.append(
            Scatter(
                "where the job was run",
                [r.value for r in job],
                [r.peak_lr for r in job],
                [r.name for r in job],
                colour=5,
            )
        )
    sentence = found.quantity.words
    return Chart(
        f"best peak rate over {what}",
        series,
        Axis(what, log=True),
        Axis("best peak learning rate", log=True),
        f"{sentence[0].upper()}{sentence[1:]}. A plan leans low as far as the law is unsure: too high costs more.",
        [XSpan(found.quantity.low, found.quantity.high, "past runs")],
        wide=True,
    )


def _bests(curves: Sequence[RateCurve], name: str, colour: int | str, size: float) -> Scatter:
    return Scatter(
        name,
        [curve.value for curve in curves],
        [curve.best for curve in curves],
        [f"{curve.value:.4g}: {curve.best:.3g}" for curve in curves],
        colour=colour,
        size=size,
    )
