"""Item 7: shown the first epoch of every run, which one does the forecaster say will end best, and how did it end?

Comes in: the runs Lodestar learned from (as in the paper, where the forecaster knows them) and runs it never saw. Goes
out: the pick of each forecaster, its true rank and that of its schedule and rate, after the first epoch and after as
little as 1/60 of the run, which is the paper's first epoch; and forecast against true finals of each run.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lodestar.evaluate.contest import Contest
from lodestar.evaluate.evaluation import Selection
from lodestar.evaluate.exam import PAPER_EPOCHS, Which, make_exam
from lodestar.evaluate.ranking import finals, ranking, selection
from lodestar.runs import RunSet
from lodestar.schedules import PAPER_SHAPES
from lodestar_bench.paper import draw_selection
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.tell_selection import words

if TYPE_CHECKING:
    from lodestar.report.html import Block

LEARNED, UNSEEN = "learned from", "never seen"
PICK = (
    "runs", "seen", "part", "forecaster", "count", "rank", "final", "best_final", "recipe_rank", "recipes", "spearman",
)  # fmt: skip


class SelectionTest(AbstractItem):
    """The paper's selection test."""

    name = "selection"
    title = "7. Selection: the run picked from the first epoch"
    needs = "Lodestar's forecaster and the runs it learned from"

    def make(self, context: ItemContext) -> Findings:
        """Both sets of runs."""
        forecaster, past = context.forecaster(), context.sources()
        fresh = fresh_runs(context)
        picks: list[tuple[object, ...]] = []
        points: list[tuple[object, ...]] = []
        notes: list[str] = []
        sets: dict[str, tuple[RunSet, Which]] = {LEARNED: (past, "all"), UNSEEN: (past + fresh, "unseen")}
        for place, (label, (runs, which)) in enumerate(sets.items()):
            context.tell(place, len(sets), f"runs {label}")
            contest = Contest(make_exam(forecaster, runs, which), past)
            picks += [(label, *row) for row in _picks(contest)]
            points += [(label, *row) for row in _finals(contest)]
            excluded = contest.exam.data.excluded
            notes += (
                [f"{len(excluded)} runs {label} were excluded, the first because: {excluded[0][1]}"] if excluded else []
            )
        return Findings(
            (
                Sheet.of("picks", PICK, picks),
                Sheet.of("finals", ("runs", "run", "forecast", "true"), points),
            ),
            seeds=tuple(sorted({int(run.facts.seed or 0) for run in (*past, *fresh)})),
            notes=tuple(notes),
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """Forecast against truth."""
        return draw_selection.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """Ranks."""
        return words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """The same to hover over."""
        return draw_selection.charts(made)


def fresh_runs(context: ItemContext) -> RunSet:
    """Final runs of the paper's four shapes, or of averaged weights at a constant rate: no forecaster has seen them."""
    wanted = PAPER_SHAPES if context.form == "recipe" else (context.form,)
    there = [entrant.name for entrant in context.plan.entrants if entrant.name in wanted]
    return context.runs([record for name in there for record in context.finals(name)])


def _picks(contest: Contest) -> list[tuple[object, ...]]:
    epoch = 1.0 / contest.exam.epochs
    parts = {"first epoch": epoch, "5 % of the run": 0.05, f"1/{PAPER_EPOCHS} of the run": 1.0 / PAPER_EPOCHS}
    rows = []
    for label, seen in parts.items():
        order = {row.forecaster: row.spearman for row in ranking(contest, (seen,))}
        rows += [_pick(label, row, order[row.forecaster]) for row in selection(contest, seen)]
    return rows


def _pick(label: str, row: Selection, spearman: float) -> tuple[object, ...]:
    return (
        label, row.seen, row.forecaster, row.runs, row.rank, row.final, row.best_final, row.recipe_rank, row.recipes,
        spearman,
    )  # fmt: skip


def _finals(contest: Contest) -> list[tuple[object, ...]]:
    exam = contest.exam
    found = finals(contest, (1.0 / exam.epochs,))[0]
    return list(zip(found.runs, found.forecast, exam.finals(exam.raw).tolist(), strict=True))


ITEM = SelectionTest()
