"""The quasi-random sweep that a method may learn from in place of the four shapes: as many runs, far more kinds.

Comes in: a problem and a plan. Goes out: a schedule for each run by name, spread evenly (Sobol) over the logarithm of
the peak rate within the recipe's own span, warm-up, plateau, decay and floor. The same for the same plan.
"""

from lodestar.bench.plan import Plan
from lodestar.bench.problem import AbstractProblem
from lodestar.sweep import Schedule


def schedules(problem: AbstractProblem, plan: Plan) -> dict[str, Schedule]:
    """One for each run of the sweep."""
    raise NotImplementedError
