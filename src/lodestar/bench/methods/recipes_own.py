"""Methods that leave the optimiser alone: updates are made by the recipe's own, at whatever rate the method names.

Comes in: a problem. Goes out: its recipe's optimiser, one object for all such methods, so that they share one compiled
step; and for methods that learn beforehand, an empty grid. Where rates come from is not known here.
"""

from lodestar.bench.method import AbstractMethod, Optimiser
from lodestar.bench.optimisers.plain import plain
from lodestar.bench.problem import AbstractProblem


class AbstractOnRecipe(AbstractMethod):
    """A method that only names rates."""

    def optimiser(self, problem: AbstractProblem, value: float) -> Optimiser:
        """The recipe's."""
        del value
        return plain(problem.recipe)


class AbstractTaught(AbstractOnRecipe):
    """One that has learned beforehand, within its budget of runs."""

    def grid(self, problem: AbstractProblem) -> tuple[float, ...]:
        """Nothing to tune: the runs were spent on learning."""
        del problem
        return ()
