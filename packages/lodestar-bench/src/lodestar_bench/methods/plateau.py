"""ReduceLROnPlateau: the rate is cut to a tenth when the validation metric has stopped getting better.

PyTorch's rule and defaults (factor 0.1, relative threshold 1e-4), its patience of 10 epochs read as a fifth of the
run's evaluations. Tuned over the recipe's five rates.
"""

import dataclasses
import math

from lodestar.runs import Direction
from lodestar_bench.methods.feedback import AbstractRule, FeedbackMethod, evaluations
from lodestar_bench.problem import AbstractProblem


@dataclasses.dataclass
class PlateauRule(AbstractRule):
    """Cut by `factor` after more than `patience` measurements in a row that were no better than the best."""

    rate: float
    patience: int
    direction: Direction = Direction.MIN
    factor: float = 0.1
    threshold: float = 1e-4
    cooldown: int = 0
    least_rate: float = 0.0
    least_cut: float = 1e-8

    def __post_init__(self):
        self._best = math.inf if self.direction is Direction.MIN else -math.inf
        self._bad = 0
        self._cooling = 0

    def step(self, measured: float) -> None:
        """A NaN is no better than anything: it counts towards the patience."""
        if self._better(measured):
            self._best, self._bad = measured, 0
        else:
            self._bad += 1
        if self._cooling > 0:
            self._cooling -= 1
            self._bad = 0
        if self._bad > self.patience:
            self._cut()
            self._cooling, self._bad = self.cooldown, 0

    def _better(self, measured: float) -> bool:
        """By PyTorch's relative rule: it multiplies the best, whatever its sign."""
        if self.direction is Direction.MIN:
            return measured < self._best * (1 - self.threshold)
        return measured > self._best * (1 + self.threshold)

    def _cut(self) -> None:
        lower = max(self.rate * self.factor, self.least_rate)
        if self.rate - lower > self.least_cut:
            self.rate = lower


def _rule(problem: AbstractProblem, first_rate: float) -> PlateauRule:
    """On the validation metric."""
    return PlateauRule(first_rate, max(1, round(0.2 * evaluations(problem))), problem.direction)


METHOD = FeedbackMethod("plateau", "ReduceLROnPlateau", _rule, watches="metric")
