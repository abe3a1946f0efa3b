"""Forecaster quality as a section: how good it is on runs it never saw, beside three simple forecasters.

Comes in: an `Evaluation`. Goes out: blocks. Computes nothing: every figure is the evaluation's.
"""

import math
from collections.abc import Sequence

import numpy as np

from lodestar.evaluate.evaluation import OURS, Ablation, Evaluation, Finals, Scope
from lodestar.report.html import Axis, Band, Block, Cell, Chart, Facts, Fold, Line, Notes, Points, Rule, Table, Text
from lodestar.report.sections.examples import example_blocks
from lodestar.report.sections.wording import count, number, percent, short

LOWEST = 1e-7  # where an error of exactly nothing is drawn on a log scale


def quality_blocks(found: Evaluation, steered: int = 0) -> list[Block]:
    """The section's blocks; `steered` runs were left out of the test because it steered them itself."""
    seen = list(dict.fromkeys(row.seen for row in found.accuracy))
    blocks: list[Block] = [
        Text(
            f"Tested on {count(len(found.runs), 'run')} the forecaster did not learn from, as far as there are any. "
            + (f"The {count(steered, 'run')} steered by Lodestar are no part of it. " if steered else "")
            + "A relative error is the squared error over the squared truth: 0.01 is off by about 10 %."
        ),
        _facts(found, seen),
        Notes([("note", note.replace(" (--against)", ""), "") for note in found.notes], {"note": "advice"}),
        *_ranks(found),
        *_errors(found),
        Text("Relative error of what was still to come, beside simple forecasters; the best of each row is green."),
        _table(found, seen, "still to come"),
        Fold("Over the whole run (the paper's table A1)", [_table(found, seen, "whole run")]),
        *example_blocks(found),
    ]
    return [block for block in blocks if not (isinstance(block, Notes) and not block.lines)]


def titles(found: Evaluation) -> dict[str, str]:
    """The quantities in words."""
    return {"metric": short(found.metric_name, 30), "loss": "training loss", "lr": "learning rate"}


def _facts(found: Evaluation, seen: Sequence[float]) -> Facts:
    figures = []
    for share in seen:
        row = next((r for r in found.ranking if (r.forecaster, r.seen) == (OURS, share)), None)
        if row is not None:
            figures.append((number(row.spearman, 2), f"rank correlation of final results, {percent(share)} seen"))
    for share in seen:
        error = found.error(OURS, share, "still to come").metric
        if error.runs:
            figures.append(
                (number(error.mean, 2), f"relative error of the {short(found.metric_name, 24)}, {percent(share)} seen")
            )
    picked = next((row for row in found.selection if row.forecaster == OURS), None)
    if picked is not None:
        figures.append(
            (f"{picked.rank} of {picked.runs}", f"rank of the run it picks from the first {percent(picked.seen, 2)}")
        )
    return Facts(figures)


def _ranks(found: Evaluation) -> list[Chart]:
    charts = [_scatter(found, one) for one in found.finals]
    lines = []
    for place, name in enumerate(found.forecasters):
        rows = [row for row in found.ranking if row.forecaster == name]
        lines.append(Line(name, [row.seen for row in rows], [row.spearman for row in rows], colour=place))
    axis = Axis("part of the run seen", log=True, style="percent")
    return [*charts, Chart("does it know early which run ends best?", lines, axis, Axis("rank correlation", high=1.02))]


def _scatter(found: Evaluation, one: Finals) -> Chart:
    forecast = np.array(one.forecast)
    ends = np.concatenate([np.array(one.true), forecast[np.isfinite(forecast)]])
    room = 0.06 * (float(ends.max() - ends.min()) or abs(float(ends.max())) or 1.0)
    low, high = float(ends.min()) - room, float(ends.max()) + room
    marks = Points("runs", one.true, one.forecast, list(one.runs), one.lower, one.upper, colour=0)
    return Chart(
        f"final {short(found.metric_name, 30)}, forecast from the first {percent(one.seen)}",
        [marks],
        Axis("true", low=low, high=high),
        Axis(f"forecast, {percent(one.level)} band", low=low, high=high),
        rules=[Rule(axis="diagonal", label="right")],
    )


def _errors(found: Evaluation) -> list[Chart]:
    rows = [row for row in found.ablation if row.tolerance is None]
    x = Axis("part of the run seen", log=True, style="percent")
    return [
        Chart(
            f"error of the {title}",
            [series for place, row in enumerate(rows) for series in _error_lines(row, channel, place)],
            x,
            Axis("relative error", log=True, low=_floor(rows, channel)),
            "Over the whole run; what a simple forecaster has seen it has right.",
        )
        for channel, title in titles(found).items()
    ]


def _error_lines(row: Ablation, channel: str, place: int) -> list[Line | Band]:
    spreads = [getattr(error, channel) for error in row.error]
    mean, std = np.array([s.mean for s in spreads]), np.array([s.std for s in spreads])
    line = Line(row.forecaster, row.seen, np.maximum(mean, LOWEST), colour=place, width=2.4 if place == 0 else 1.5)
    if place:
        return [line]
    low = np.maximum(np.maximum(mean - std, mean / 10), LOWEST)
    return [Band("one standard deviation", row.seen, low, mean + std, row.forecaster, place, 0.15), line]


def _floor(rows: Sequence[Ablation], channel: str) -> float | None:
    """Ours sets the scale: a forecaster that repeats what it saw falls to nothing at the end."""
    if not rows:
        return None
    ours = [getattr(error, channel).mean for error in rows[0].error]
    fine = [value for value in ours if math.isfinite(value) and value > 0]
    return max(min(fine) / 20, LOWEST) if fine else None


def _table(found: Evaluation, seen: Sequence[float], scope: Scope) -> Table:
    rows = []
    for channel, title in titles(found).items():
        for share in seen:
            errors = [getattr(found.error(name, share, scope), channel) for name in found.forecasters]
            best = min((error.mean for error in errors if error.runs), default=math.nan)
            cells = [Cell(number(error.mean, 2), "good" if error.mean == best else "") for error in errors]
            rows.append([f"{title}, {percent(share)} seen", *cells])
    return Table((scope, *(f">{name}" for name in found.forecasters)), rows)
