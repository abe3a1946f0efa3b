"""How far off forecasts are: by the fraction seen, by the solver's tolerance (the ablation figure), and table A1.

Comes in: an `Evaluation`. Goes out: a chart for each quantity, and tables. Logarithmic both ways, mean over runs,
shading one standard deviation.
"""

import math
from collections.abc import Sequence

import numpy as np

from lodestar.evaluate.evaluation import OURS, Ablation, Evaluation, MeanStd, Scope, Truth
from lodestar.report.html import Axis, Cell, Chart, Line, Mark, Shading, Table
from lodestar.report.sections.wording import channels, number, percent, span

LOWEST = 1e-7  # where an error of exactly nothing is drawn on a log scale
WIDTHS = (7.0, 4.5, 2.5, 1.0)  # solvers agree to the eye: each is drawn thinner than the one below it


def error_charts(evaluation: Evaluation) -> dict[str, Chart]:
    """Ours and the simple forecasters, by channel."""
    rows = [row for row in evaluation.ablation if row.tolerance is None]
    caption = "Over the whole run; what a simple forecaster has seen it has right."
    return {
        channel: _chart(
            f"error of the {title}",
            rows,
            channel,
            [s for place, row in enumerate(rows) for s in _forecaster(row, channel, place)],
            caption,
        )
        for channel, title in channels(evaluation.metric_name).items()
    }


def tolerance_charts(evaluation: Evaluation) -> dict[str, Chart]:
    """Ours by each solver, by channel; none where no other tolerance was tried."""
    rows = [row for row in evaluation.ablation if row.forecaster == OURS]
    if len(rows) < 2:
        return {}
    return {
        channel: _chart(
            f"{title} by solver", rows, channel, [_solver(row, channel, place) for place, row in enumerate(rows)]
        )
        for channel, title in channels(evaluation.metric_name).items()
    }


def accuracy_table(evaluation: Evaluation, scope: Scope, truth: Truth = "smoothed") -> Table:
    """A row for each quantity and fraction, a column for each forecaster; the best stands out."""
    rows = []
    for channel, title in channels(evaluation.metric_name).items():
        for seen in evaluation.fractions:
            errors = [getattr(evaluation.error(name, seen, scope, truth), channel) for name in evaluation.forecasters]
            best = min((error.mean for error in errors if error.runs), default=math.nan)
            cells = (_cell(error, error.mean == best) for error in errors)
            rows.append([f"{title}, {percent(seen)} seen", *cells, span(error.runs for error in errors)])
    return Table((scope, *(f">{name}" for name in evaluation.forecasters), ">n"), rows, evaluation.differing or "")


def _cell(error: MeanStd, best: bool) -> Cell:
    if not error.runs:
        return Cell("–")
    text = f"{number(error.mean, 2)} ±{number(error.std, 1)}"
    return Cell(text, "good" if best else "", f"over {error.runs} runs")


def _chart(title: str, rows: Sequence[Ablation], channel: str, series: Sequence[Mark], caption: str = "") -> Chart:
    x = Axis("part of the run seen", log=True, style="percent")
    return Chart(title, series, x, Axis("relative error", log=True, low=_floor(rows, channel)), caption)


def _forecaster(row: Ablation, channel: str, place: int) -> list[Mark]:
    mean, std = _spread(row, channel)
    line = Line(row.forecaster, row.seen, np.maximum(mean, LOWEST), colour=place, width=2.4 if place == 0 else 1.5)
    if place:
        return [line]
    low = np.maximum(np.maximum(mean - std, mean / 10), LOWEST)
    return [Shading("one standard deviation", row.seen, low, mean + std, row.forecaster, place, 0.15), line]


def _solver(row: Ablation, channel: str, place: int) -> Line:
    mean, _ = _spread(row, channel)
    name = row.solver if row.tolerance is not None else f"{row.solver} (its own)"
    width = WIDTHS[min(place, len(WIDTHS) - 1)]
    return Line(name, row.seen, np.maximum(mean, LOWEST), colour=place, width=width)


def _spread(row: Ablation, channel: str) -> tuple[np.ndarray, np.ndarray]:
    spreads = [getattr(error, channel) for error in row.error]
    return np.array([spread.mean for spread in spreads]), np.array([spread.std for spread in spreads])


def _floor(rows: Sequence[Ablation], channel: str) -> float | None:
    """Ours sets the scale: a forecaster that repeats what it saw falls to nothing at the end."""
    ours = _spread(rows[0], channel)[0] if rows else np.zeros(0)
    fine = ours[np.isfinite(ours) & (ours > 0)]
    return max(float(fine.min()) / 20, LOWEST) if len(fine) else None
