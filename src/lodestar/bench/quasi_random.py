"""The quasi-random sweep that a method may learn from in place of the four shapes: as many runs, far more kinds.

Comes in: a problem and a plan. Goes out: a schedule for each run by name, spread evenly (Sobol) over the logarithm of
the peak rate within the recipe's own span, warm-up, plateau, decay and floor. The same for the same plan.
"""

from lodestar.bench.plan import Plan
from lodestar.bench.problem import AbstractProblem
from lodestar.sweep import Schedule, Trial
from lodestar.sweep.spaces import QuasiRandom, Range


def trials(problem: AbstractProblem, plan: Plan) -> dict[str, Trial]:
    """One for each run of the sweep; none if methods learn from the shapes."""
    if plan.source != "sobol":
        return {}
    pieces, rates = plan.sources(), problem.recipe.rates
    space = QuasiRandom(peak=Range(min(rates), max(rates), log=True))
    found = space.trials(len(pieces), problem.total_steps, seed=plan.learning_seed)
    return {piece.name: trial for piece, trial in zip(pieces, found, strict=True)}


def schedules(problem: AbstractProblem, plan: Plan) -> dict[str, Schedule]:
    """Their schedules."""
    return {name: trial.schedule for name, trial in trials(problem, plan).items() if trial.schedule is not None}
