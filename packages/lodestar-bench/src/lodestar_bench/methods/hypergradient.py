"""Hypergradient descent (Baydin et al. 2018): the rate follows its own gradient, update by update.

The value is beta, the hypergradient rate, over five powers of ten; the first rate is the middle one of the recipe's
five, for the method's promise is that the first rate need not be tuned. (The smallest beta barely moves the rate: a
constant schedule at the middle rate.) What is logged is the rate in effect.
"""

from pathlib import Path

from lodestar.schedules import constant
from lodestar_bench.method import AbstractController, AbstractMethod, Optimizer
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.optimizers.hypergradient import hypergradient
from lodestar_bench.problem import AbstractProblem

_BETAS = {
    "sgd": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
    "adam": (1e-7, 1e-6, 1e-5, 1e-4, 1e-3),
    "adamw": (1e-7, 1e-6, 1e-5, 1e-4, 1e-3),
}


class Hypergradient(AbstractMethod):
    """SGD form where the recipe is SGD, Adam form otherwise."""

    name = "hypergradient"
    title = "hypergradient descent"
    group = "paper"

    def grid(self, problem: AbstractProblem) -> tuple[float, ...]:
        """Hypergradient rates around the authors' (1e-3 for SGD, 1e-7 for Adam)."""
        return _BETAS[problem.recipe.optimizer]

    def optimizer(self, problem: AbstractProblem, value: float) -> Optimizer:
        """One for all values: beta comes in as the rate."""
        del value
        rates = sorted(problem.recipe.rates)
        return hypergradient(problem.recipe, rates[len(rates) // 2])

    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """Beta, throughout."""
        del seed, knowledge
        return Scheduled(constant(value, problem.total_steps))


METHOD = Hypergradient()
