"""Do the prediction intervals hold what they promise? Charts of promised against held, and a table.

Comes in: an `Evaluation`. Goes out: blocks. Only what was still to come counts.
"""

import math

from lodestar.evaluate.evaluation import Coverage, Evaluation
from lodestar.report.html import Axis, Block, Chart, Details, Line, Mark, ReferenceLine, Scatter, Table, Text
from lodestar.report.sections.wording import percent

FIELDS = {"loss": "loss", "lr": "learning rate", "metric": "metric", "final_metric": "final metric"}


def interval_blocks(evaluation: Evaluation) -> list[Block]:
    """Charts, and the same as a table behind a fold."""
    about = (
        "The share of what was still to come that lay inside. On the line is right; above, the intervals are wider "
        "than they need be; below, they promise too much."
    )
    return [Text(about), *coverage_charts(evaluation).values(), Details("As a table", [coverage_table(evaluation)])]


def coverage_charts(evaluation: Evaluation) -> dict[float, Chart]:
    """Promised against held, by the fraction seen; none for a run seen to its end."""
    return {
        seen: _chart(seen, [row for row in evaluation.coverage if row.seen == seen])
        for seen in dict.fromkeys(row.seen for row in evaluation.coverage)
        if seen < 1
    }


def coverage_table(evaluation: Evaluation) -> Table:
    """What each interval held."""
    rows = [
        [
            f"{percent(row.level)} interval, {percent(row.seen)} seen",
            *(_share(getattr(row, field)) for field in FIELDS),
            str(row.runs),
            str(row.finals),
        ]
        for row in evaluation.coverage
    ]
    heads = ("share inside", *(f">{title}" for title in FIELDS.values()), ">n", ">n of finals")
    return Table(heads, rows, evaluation.differing or "")


def _chart(seen: float, rows: list[Coverage]) -> Chart:
    promised = [row.level for row in rows]
    series: list[Mark] = []
    for colour, (field, title) in enumerate(FIELDS.items()):
        held = [getattr(row, field) for row in rows]
        series += [
            Line(title, promised, held, title, colour),
            Scatter(title, promised, held, group=title, colour=colour),
        ]
    return Chart(
        f"intervals, {percent(seen)} seen",
        series,
        Axis("promised", low=0.45, high=1.0, style="percent"),
        Axis("held", high=1.02, style="percent"),
        rules=[ReferenceLine(axis="diagonal", label="right")],
    )


def _share(value: float) -> str:
    return f"{100 * value:.0f} %" if math.isfinite(value) else "–"
