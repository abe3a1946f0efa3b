"""Table 1: every method's final results, and how sure one can be that it beats the best other method.

Comes in: a plan and its results. Goes out: a `TableRow` a method, best first, as plain data. The other method of a row
is the best of all others by mean test metric; for ours, the best of all that are not ours, and beside it the best on
the paper's own list. Differences are turned so that positive is better. What is missing, diverged or failed is counted
in the row. Draws and writes nothing.
"""

import dataclasses
import math
from collections.abc import Sequence

from lodestar.runs import Direction
from lodestar_bench.cost import Cost, cost
from lodestar_bench.entrant import Entrant
from lodestar_bench.plan import TablePlan, records_of
from lodestar_bench.results import Record, Results
from lodestar_bench.statistics import Paired, Spread, Welch, paired, spread, welch


@dataclasses.dataclass(frozen=True)
class Against:
    """A method held against another: on how many seeds it is better, by how much, and how sure that is."""

    other: str | None
    welch: Welch
    paired: Paired


@dataclasses.dataclass(frozen=True)
class TableRow:
    """One method. `setting` is what it was judged with; `trouble` is why there is no final run, if so.

    `finals` are test figures at the best validation, `ends` those of the last weights. `papers` is there for ours.
    """

    entrant: Entrant
    setting: str
    finals: Spread
    ends: Spread
    worst: float
    best_other: Against
    papers: Against | None
    planned: int
    diverged_tuning: int
    diverged: int
    failed: int
    trouble: str | None
    cost: Cost

    @property
    def other(self) -> str | None:
        """The best other method."""
        return self.best_other.other

    @property
    def welch(self) -> Welch:
        """Against the best other method."""
        return self.best_other.welch

    @property
    def paired(self) -> Paired:
        """Against the best other method."""
        return self.best_other.paired

    @property
    def set_to(self) -> str:
        """The setting in words: a value, or how many runs it learned from."""
        return self.setting if self.entrant.learns == "nothing" else self.setting.partition("-runs")[0] + " runs"

    @property
    def at_the_end(self) -> bool:
        """Whether tuning chose the first or the last value of the grid: a wider one might have done better."""
        ends = {f"{value:g}" for value in (min(self.entrant.grid), max(self.entrant.grid))} if self.entrant.grid else ()
        return self.entrant.learns == "nothing" and len(self.entrant.grid) > 1 and self.setting in ends

    @property
    def complete(self) -> bool:
        """Whether every final run was made."""
        return self.finals.count == self.planned


@dataclasses.dataclass(frozen=True)
class Table1:
    """All rows, best mean first, those without results last."""

    rows: tuple[TableRow, ...]
    metric_name: str
    direction: Direction

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be made: each method has all its runs, or failed for good."""
        return all(row.complete or row.trouble is not None or row.failed for row in self.rows)

    def row(self, method: str) -> TableRow:
        """A method's row."""
        return next(row for row in self.rows if row.entrant.name == method)


def table(plan: TablePlan, results: Results) -> Table1:
    """The table as far as it can be filled."""
    finals = {entrant.name: records_of(plan.finals(entrant, results), results) for entrant in plan.entrants}
    sign = 1.0 if results.direction is Direction.MAX else -1.0
    rows = [_row(plan, entrant, results, finals, sign) for entrant in plan.entrants]
    rows.sort(key=lambda row: -sign * row.finals.mean if row.finals.count else math.inf)
    return Table1(tuple(rows), results.metric_name, results.direction)


def _row(plan: TablePlan, entrant: Entrant, results: Results, finals: dict[str, list[Record]], sign: float) -> TableRow:
    found = spread([results.test(record) for record in finals[entrant.name]])
    rivals = [
        one
        for one in plan.entrants
        if one.name != entrant.name and finals[one.name] and not (one.group == entrant.group == "ours")
    ]
    papers = [one for one in rivals if one.group == "paper"]
    pieces = plan.finals(entrant, results)
    trials = [*plan.tuning(entrant), *(pieces or [])]
    return TableRow(
        entrant=entrant,
        setting=pieces[0].name.split("/")[2] if pieces else "",
        finals=found,
        ends=spread([results.last_test(record) for record in finals[entrant.name]]),
        worst=found.low if sign > 0 else found.high,
        best_other=_against(entrant, rivals, results, finals, sign),
        papers=_against(entrant, papers, results, finals, sign) if entrant.group == "ours" and papers else None,
        planned=plan.seeds,
        diverged_tuning=sum(not record.complete for record in records_of(plan.tuning(entrant), results)),
        diverged=sum(not record.complete for record in finals[entrant.name]),
        failed=sum(piece.name in results.failures for piece in trials),
        trouble=plan.lost(entrant, results),
        cost=cost(plan, entrant, results),
    )


def _against(
    entrant: Entrant, rivals: Sequence[Entrant], results: Results, finals: dict[str, list[Record]], sign: float
) -> Against:
    """Held against the rival with the best mean."""
    means = {one.name: spread([results.test(record) for record in finals[one.name]]).mean for one in rivals}
    other = max(means, key=lambda name: sign * means[name], default=None)
    mine = {record.seed: results.test(record) for record in finals[entrant.name]}
    theirs = {record.seed: results.test(record) for record in finals[other]} if other and mine else {}
    common = [seed for seed in mine if seed in theirs]
    return Against(
        other,
        welch([sign * x for x in mine.values()], [sign * x for x in theirs.values()]),
        paired([sign * mine[seed] for seed in common], [sign * theirs[seed] for seed in common]),
    )
