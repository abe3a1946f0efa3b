"""Methods that are a schedule and no more: the rate of every update is known before the first.

Comes in: a shape (a peak rate and a length give a `Schedule`). Goes out: a method, tuned over the recipe's five peak
rates unless it says otherwise, run with the recipe's optimizer unless it brings its own. Observes nothing.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lodestar.schedules import Draw, Schedule
from lodestar_bench.method import AbstractController, AbstractMethod, Optimizer
from lodestar_bench.optimizers.forms import own
from lodestar_bench.problem import AbstractProblem, TrainingRecipe


class Scheduled(AbstractController):
    """Reads the rates off a schedule."""

    def __init__(self, schedule: Schedule):
        self.schedule = schedule

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The schedule's rates of these updates."""
        return self.schedule.rates[first - 1 : first - 1 + count].copy()


@dataclasses.dataclass(frozen=True)
class ScheduleMethod(AbstractMethod):
    """A shape under test. `values` are tuned over in place of the recipe's rates where given."""

    name: str
    title: str
    group: Literal["paper", "modern", "ours"]
    shape: Draw
    form: Callable[[TrainingRecipe], Optimizer] = own
    values: tuple[float, ...] | None = None

    @property
    def brings_optimizer(self) -> bool:
        """Where it is said which."""
        return self.form is not own

    def grid(self, problem: AbstractProblem) -> tuple[float, ...]:
        """The peak rates to try."""
        return problem.recipe.rates if self.values is None else self.values

    def optimizer(self, problem: AbstractProblem, value: float) -> Optimizer:
        """One for all values: the value is in the rates."""
        del value
        return self.form(problem.recipe)

    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """The shape with `value` as its peak."""
        del seed, knowledge
        return Scheduled(self.shape(value, problem.total_steps))
