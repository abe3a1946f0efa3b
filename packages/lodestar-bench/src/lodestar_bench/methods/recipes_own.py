"""Methods that leave the optimizer alone: updates are made by the recipe's own, at whatever rate the method names.

Comes in: a problem. Goes out: its recipe's optimizer, one object for all such methods, so that they share one compiled
step; and for methods that learn beforehand, an empty grid. Where rates come from is not known here.
"""

from lodestar_bench.method import AbstractMethod, Optimizer
from lodestar_bench.optimizers.forms import own
from lodestar_bench.problem import AbstractProblem


class AbstractOnRecipe(AbstractMethod):
    """A method that only names rates."""

    @property
    def brings_optimizer(self) -> bool:
        """It does not."""
        return False

    def optimizer(self, problem: AbstractProblem, value: float) -> Optimizer:
        """The recipe's."""
        del value
        return own(problem.recipe)


class AbstractTaught(AbstractOnRecipe):
    """One that has learned beforehand, within its budget of runs."""

    def grid(self, problem: AbstractProblem) -> tuple[float, ...]:
        """Nothing to tune: the runs were spent on learning."""
        del problem
        return ()
