"""The schedules of the sweeps that methods learn from: quasi-random, or the four shapes in another form's optimizer.

Comes in: a problem and a plan. Goes out: a trial for each quasi-random run by name, spread evenly (Sobol) over the
logarithm of the peak rate within the recipe's own span, warm-up, plateau, decay and floor; a schedule for each run of
any sweep. The same for the same plan.
"""

from lodestar.sweep import SHAPES, Schedule, Trial
from lodestar_bench.optimizers.forms import space
from lodestar_bench.plan import TablePlan
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.results import SWEEP


def trials(problem: AbstractProblem, plan: TablePlan, form: str = "recipe") -> dict[str, Trial]:
    """One for each run of the sweep; none if methods learn from the shapes."""
    if plan.source != "sobol" and plan.equal is None:
        return {}
    pieces = plan.sources(form)
    found = space(form, problem.recipe).trials(len(pieces), problem.total_steps, seed=plan.learning_seed)
    return {piece.name: trial for piece, trial in zip(pieces, found, strict=True)}


def schedules(problem: AbstractProblem, plan: TablePlan) -> dict[str, Schedule]:
    """The schedule of every run of every sweep."""
    found: dict[str, Schedule] = {}
    for form in plan.forms():
        drawn = trials(problem, plan, form)
        found |= {name: trial.schedule for name, trial in drawn.items() if trial.schedule is not None}
        shapes = [piece for piece in plan.sources(form) if piece.stage == SWEEP and piece.name not in drawn]
        found |= {one.name: SHAPES[one.entrant.name](one.value, problem.total_steps) for one in shapes}
    return found
