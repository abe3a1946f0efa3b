"""The sweep at a glance: every curve, final metric against peak lr, the schedules. A part for each task and metric.

Comes in: glimpses. Goes out: blocks. What cannot be compared (other tasks, other metrics) is drawn apart.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from lodestar.fitting.dataset import DEFAULT_SMOOTHING
from lodestar.report.html import Axis, Block, Chart, Details, KeyFigures, Line, Scatter, Text, histogram
from lodestar.report.sections.families import colours, families
from lodestar.report.sections.glimpse import POINTS, Curve, Glimpse
from lodestar.report.sections.wording import count, number, percent
from lodestar.runs.run import Direction, Status

_RATES = Axis("peak learning rate", log=True)
SETS = 6
_SMOOTHED = f"Smoothed as a fit smooths it, over {percent(DEFAULT_SMOOTHING)} of the run."
_LOG_FROM = 30.0  # a metric that spans more than this factor is drawn on a log axis


def sets(runs: Sequence[Glimpse]) -> list[list[Glimpse]]:
    """Runs that may be compared with one another, the largest set first."""
    found: dict[tuple, list[Glimpse]] = {}
    for run in runs:
        found.setdefault(run.what, []).append(run)
    return sorted(found.values(), key=len, reverse=True)


def sweep_blocks(runs: Sequence[Glimpse], thinned: int) -> list[Block]:
    """The section's blocks."""
    parts = sets(runs)
    blocks: list[Block] = [*_set(parts[0])]
    for part in parts[1:SETS]:
        blocks.append(Details(_title(part), _set(part)))
    if len(parts) > SETS:
        blocks.append(Text(f"{count(len(parts) - SETS, 'more set')} of runs with other tasks or metrics not drawn."))
    return [*blocks, *_said(runs, thinned)]


def _title(part: Sequence[Glimpse]) -> str:
    task = f"{part[0].task}, " if part[0].task else ""
    return f"Another set: {task}{part[0].metric_name} ({count(len(part), 'run')})"


def _said(runs: Sequence[Glimpse], thinned: int) -> list[Block]:
    """What the reader does not see."""
    drawn = sum(len(run.loss[0]) > 0 for run in runs)
    said = []
    if drawn < len(runs):
        said.append(f"Curves of {drawn} of {len(runs)} runs are drawn, evenly spread; every other figure counts all.")
    if thinned:
        said.append(
            f"Curves of more than {POINTS} points are drawn by the lowest and highest value of each of "
            f"{POINTS // 2 - 1} stretches: no spike is lost."
        )
    said.append("Click a name in a legend to hide it, double click to see it alone; drag across a chart to zoom in.")
    return [Text(" ".join(said), "faint")]


def _set(part: Sequence[Glimpse]) -> list[Block]:
    table = families(part)
    paint = colours(table)
    x, scale = _clock(part)
    metric, loss = part[0].metric_name, "training loss"

    def lines(curve: Callable[[Glimpse], Curve]) -> list[Line]:
        ordered = sorted(part, key=lambda run: paint[table[run.schedule]])
        return [
            Line(
                run.name, *_scaled(curve(run), scale(run)), table[run.schedule], paint[table[run.schedule]], faint=True
            )
            for run in ordered
            if len(curve(run)[0])
        ]

    charts = [
        Chart(metric, lines(lambda run: run.metric), x, _metric_axis(part), _beyond(part), wide=True, height=340),
        Chart(loss, lines(lambda run: run.loss), x, _loss_axis(part), f"{_SMOOTHED} {_beyond(part)}".strip()),
        Chart(
            f"final {metric} against peak learning rate",
            _finals(part, table, paint),
            _RATES,
            Axis(f"final {metric}"),
            _undrawn(part),
        ),
        Chart("schedules", lines(lambda run: run.lr), x, _lr_axis(part), _beyond(part)),
        *_histogram(part),
    ]
    return [_facts(part), *(chart for chart in charts if chart.series)]


def _facts(part: Sequence[Glimpse]) -> KeyFigures:
    best = best_of(part)
    ended = [run.status for run in part]
    figures = [
        (str(len(part)), "runs"),
        (number(best.final) if best else "–", f"best {part[0].metric_name}" + (f" ({best.schedule})" if best else "")),
        (f"{number(best.peak_lr)}" if best else "–", "peak learning rate of the best run"),
        (str(sum(bool(run.excluded) for run in part)), "excluded, as a fit would: diverged, never learned or stuck"),
    ]
    if Status.CUT_SHORT in ended:
        figures.append((str(ended.count(Status.CUT_SHORT)), "cut short"))
    seeds = {run.seed for run in part if run.seed is not None}
    figures += [(str(len({run.schedule for run in part})), "schedules"), (str(len(seeds) or "–"), "seeds")]
    return KeyFigures(figures)


def best_of(part: Sequence[Glimpse]) -> Glimpse | None:
    """The run with the best last metric."""
    known = [run for run in part if math.isfinite(run.final)]
    sign = 1.0 if part[0].direction is Direction.MAX else -1.0
    return max(known, key=lambda run: sign * run.final) if known else None


def _clock(part: Sequence[Glimpse]) -> tuple[Axis, Callable[[Glimpse], float]]:
    """Steps where the runs are about as long as one another, else the share of each run."""
    lengths = [run.total_steps for run in part]
    if max(lengths) <= 1.2 * min(lengths):
        return Axis("step"), lambda run: 1.0
    return Axis("part of the run", style="percent"), lambda run: 1.0 / max(run.total_steps, 1)


def _scaled(curve: Curve, by: float) -> Curve:
    return (curve[0], curve[1]) if by == 1.0 else (curve[0] * by, curve[1])


def _finals(part: Sequence[Glimpse], table: dict[str, str], paint: dict[str, int]) -> list[Scatter]:
    found = []
    for family, colour in paint.items():
        runs = [run for run in part if table[run.schedule] == family and math.isfinite(run.final) and run.peak_lr > 0]
        if runs:
            names = [run.name for run in runs]
            x, y = [run.peak_lr for run in runs], [run.final for run in runs]
            found.append(Scatter(family, x, y, names, colour=colour, size=3.5))
    return found


def _histogram(part: Sequence[Glimpse]) -> list[Chart]:
    finals = [run.final for run in part if math.isfinite(run.final)]
    if len(finals) < 5 or max(finals) == min(finals):
        return []
    title = f"how the runs ended: final {part[0].metric_name}"
    bars = histogram("runs", finals, bins=min(40, max(8, len(finals) // 4)), colour=7)
    return [Chart(title, [bars], Axis(f"final {part[0].metric_name}"), Axis("runs", low=0, style="count"))]


def _values(part: Sequence[Glimpse], curve: Callable[[Glimpse], Curve]) -> np.ndarray:
    """What is drawn of the runs that are not excluded; of all where every one is."""
    calm = [run for run in part if not run.excluded and len(curve(run)[1])] or list(part)
    values = np.concatenate([curve(run)[1] for run in calm] or [np.zeros(0)])
    return values[np.isfinite(values)]


def _beyond(part: Sequence[Glimpse]) -> str:
    """That some runs may leave the chart."""
    wild = sum(bool(run.excluded) for run in part)
    if not 0 < wild < len(part):
        return ""
    return f"The axes are set by the other runs: {count(wild, 'excluded run')} may go beyond them."


def _undrawn(part: Sequence[Glimpse]) -> str:
    wild = sum(bool(run.excluded) for run in part)
    return f"Without {count(wild, 'excluded run')}, which ended at nothing that could be compared." if wild else ""


def _metric_axis(part: Sequence[Glimpse]) -> Axis:
    """The first moments of a run, far off all others, do not set the scale; nor do runs that diverged."""
    name, values = part[0].metric_name, _values(part, lambda run: run.metric)
    if not len(values):
        return Axis(name)
    low, high = np.quantile(values, 0.01), np.quantile(values, 0.99)
    low, high = (low, values.max()) if part[0].direction is Direction.MAX else (values.min(), high)
    if low > 0 and high / low > _LOG_FROM:
        return Axis(name, log=True, low=float(low / 1.1), high=float(high * 1.2))
    room = 0.04 * (high - low)
    return Axis(name, low=float(low - room), high=float(high + room)) if high > low else Axis(name)


def _loss_axis(part: Sequence[Glimpse]) -> Axis:
    values = _values(part, lambda run: run.loss)
    above = values[values > 0]
    if not len(values) or len(above) < 0.98 * len(values):
        return Axis("training loss")
    low, high = np.quantile(above, 0.001), np.quantile(above, 0.998)
    return Axis("training loss", log=True, low=float(low / 1.1), high=float(high * 1.2))


def _lr_axis(part: Sequence[Glimpse]) -> Axis:
    calm = [run for run in part if not run.excluded] or part
    peaks = [run.peak_lr for run in calm if run.peak_lr > 0]
    if not peaks:
        return Axis("learning rate")
    return Axis("learning rate", log=True, low=min(peaks) / 100, high=max(peaks) * 1.3)
