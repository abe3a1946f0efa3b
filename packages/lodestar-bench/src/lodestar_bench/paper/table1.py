"""Item 1: Table 1, all methods on all tasks, and how their final results are distributed.

Comes in: a bench's results. Goes out: a row for each method (mean, standard deviation, p-values against the best other
method), every final result, and a kernel density of each. Curves are not read.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lodestar_bench.paper import draw_table1, tell_table1
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.statistics import density
from lodestar_bench.table import TableRow

if TYPE_CHECKING:
    from lodestar.report.html import Block

ROW = (
    "method", "title", "group", "set_to", "count", "planned", "mean", "std", "worst", "other", "p", "paired_difference",
    "paired_lower", "paired_upper", "paired_p", "diverged",
)  # fmt: skip


class Table1Item(AbstractItem):
    """The comparison."""

    name = "table1"
    title = "1. Table 1: final results of every method"
    needs = "final runs"

    def make(self, context: ItemContext) -> Findings:
        """Rows, results, densities."""
        rows = [row for row in context.table.rows if row.finals.count]
        if not rows:
            raise context.missing("there is no final run")
        results = [
            (row.entrant.name, record.seed, str(record.status), context.results.test(record))
            for row in rows
            for record in context.finals(row.entrant.name)
        ]
        values = {
            row.entrant.name: [test for method, _, _, test in results if method == row.entrant.name] for row in rows
        }
        curves = [line for method in values for line in _curve(method, values[method])]
        return Findings(
            (
                Sheet.of("table", ROW, map(_row, rows)),
                Sheet.of("results", ("method", "seed", "status", "test"), results),
                Sheet.of("density", ("method", "at", "height"), curves),
            ),
            seeds=tuple(sorted({result[1] for result in results})),
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """Means with intervals, and distributions."""
        return draw_table1.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """The table and the gist."""
        return tell_table1.words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """The same to hover over."""
        return draw_table1.charts(made)


def _row(row: TableRow) -> tuple[object, ...]:
    found, pairs = row.finals, row.paired
    return (
        row.entrant.name, row.entrant.title, row.entrant.group, row.set_to, found.count, row.planned, found.mean,
        found.std, row.worst, row.other or "", row.welch.p, pairs.mean, pairs.lower, pairs.upper, pairs.p, row.diverged,
    )  # fmt: skip


def _curve(method: str, values: list[float]) -> list[tuple[str, float, float]]:
    """A density at 60 places; none where all results are the same."""
    found = density([value for value in values if math.isfinite(value)], points=60)
    return [] if found is None else [(method, float(x), float(y)) for x, y in zip(*found, strict=True)]


ITEM = Table1Item()
