"""Item 3: how well the latent ODE forecasts runs: true against forecast, table A1, solver tolerances, stiffness.

Comes in: Lodestar's forecaster, and runs it never learned from: those its fit held out, and final runs of the paper's
four shapes. Goes out: relative MSE of loss, learning rate and metric by how much was seen and how the ODE was solved;
three runs beside their forecasts; the solver's steps along 100 runs. The measuring is `lodestar.evaluate`'s.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lodestar.evaluate.accuracy import ablation, accuracy, fractions_of
from lodestar.evaluate.contest import Contest
from lodestar.evaluate.evaluation import OURS, Ablation, Accuracy, ByChannel, Example, Stiffness
from lodestar.evaluate.exam import make_exam
from lodestar.evaluate.examples import examples
from lodestar.evaluate.measure import TOLERANCES
from lodestar.evaluate.stiffness import stiffness
from lodestar_bench.paper import draw_forecasts
from lodestar_bench.paper.context import ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.selection import fresh_runs
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.tell_forecasts import words

if TYPE_CHECKING:
    from lodestar.report.html import Block

SEEN = (0.05, 0.5)
QUANTITIES = ("loss", "lr", "metric")
Rows = Iterable[tuple[object, ...]]


class Forecasts(AbstractItem):
    """Accuracy of the latent ODE."""

    name = "forecasts"
    title = "3. Forecasts: true against forecast, table A1, solver"
    needs = "Lodestar's forecaster, the runs it learned from, final runs of the four shapes"

    def make(self, context: ItemContext) -> Findings:
        """Everything `evaluate` measures of it, on runs it never learned from."""
        past, fresh = context.sources(), fresh_runs(context)
        exam = make_exam(context.forecaster(), past + fresh)
        contest, seen = Contest(exam, past), fractions_of(exam.data.recipe.points)
        count, total = itertools.count(1), len(seen) * (len(TOLERANCES) + 1 + len(contest.names) - 1)

        def tick() -> None:
            context.tell(next(count), total, "forecasts")

        hard = stiffness(exam, SEEN[0])
        a1 = ("forecaster", "seen", "scope", "truth", "quantity", "mean", "std", "runs")
        by = ("forecaster", "solver", "tolerance", "seen", "quantity", "mean", "std", "runs")
        curves = ("example", "run", "seen", "step", "part", "quantity", "logged", "truth", "forecast", "lower", "upper")
        return Findings(
            (
                Sheet.of("table_a1", a1, _accuracy(accuracy(contest, SEEN))),
                Sheet.of("tolerance", by, _ablation(ablation(contest, TOLERANCES, seen, tick))),
                Sheet.of("curves", curves, _curves(examples(contest, SEEN))),
                Sheet.of("steps", ("run", "start", "size", "evaluations"), _steps(hard)),
                Sheet.of("solver", ("what", "figure"), _solver(hard)),
            ),
            seeds=tuple(sorted({int(run.facts.seed or 0) for run in (*past, *fresh)})),
            notes=exam.notes,
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """Curves, errors, solver."""
        return draw_forecasts.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """Table A1 beside the paper's."""
        return words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """The same to hover over."""
        return draw_forecasts.charts(made)


def _spreads(error: ByChannel) -> Rows:
    for name in QUANTITIES:
        found = getattr(error, name)
        yield name, found.mean, found.std, found.runs


def _accuracy(rows: Sequence[Accuracy]) -> Rows:
    for row in rows:
        yield from ((row.forecaster, row.seen, row.scope, row.truth, *one) for one in _spreads(row.error))


def _ablation(rows: Sequence[Ablation]) -> Rows:
    for row in rows:
        solver = "own" if row.forecaster == OURS and row.tolerance is None else "tsit5" if row.tolerance else ""
        for seen, error in zip(row.seen, row.error, strict=True):
            yield from ((row.forecaster, solver, row.tolerance, seen, *one) for one in _spreads(error))


def _curves(found: Sequence[Example]) -> Rows:
    for one, name in itertools.product(found, QUANTITIES):
        for drawn in one.forecasts:
            values = (one.raw, one.smoothed, drawn.centre, drawn.lower, drawn.upper)
            for step, *point in zip(one.steps, *(part[name] for part in values), strict=True):
                yield one.why, one.run, drawn.seen, step, step / one.steps[-1], name, *point


def _steps(found: Stiffness) -> Rows:
    for place, one in enumerate(found.trajectories):
        yield from ((place, *step) for step in zip(one.start, one.size, one.evaluations, strict=True))


def _solver(found: Stiffness) -> Rows:
    yield "tolerance", found.tolerance
    yield "runs", len(found.trajectories)
    yield "evaluations of a run", found.evaluations.mean
    yield "their standard deviation", found.evaluations.std
    yield "share of steps thrown away", found.rejected
    yield "evaluations of its own solver", found.own_evaluations


ITEM = Forecasts()
