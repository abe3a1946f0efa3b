"""GreedyLR (Subramanian and Ganapathiraman 2023; Krishnamoorthy et al. 2025): up while the loss falls, down when not.

The rule as in Transformers: divided by `factor` after more than `patience` measurements in a row that were better than
the best, multiplied by it after as many that were not; a streaming mean smooths what is measured; a warm-up (cooldown)
of some measurements follows each rise (fall). It watches the mean training loss between two evaluations. Its defaults
are for thousands of steps; here patience is a hundredth of the run's evaluations and the window a twentieth, the bounds
are a hundredth and ten times the first rate, as they are for its default rate of 0.1. Tuned over the recipe's rates.
"""

import dataclasses
import math
from collections import deque

from lodestar_bench.methods.feedback import AbstractRule, FeedbackMethod, evaluations
from lodestar_bench.problem import AbstractProblem


@dataclasses.dataclass
class GreedyRule(AbstractRule):
    """Smaller measurements are better."""

    rate: float
    patience: int
    least_rate: float
    most_rate: float
    factor: float = 0.95
    threshold: float = 1e-6
    cooldown: int = 0
    warmup: int = 0
    window: int = 1
    reset_after: int = 500
    least_change: float = 1e-8

    def __post_init__(self):
        self._first = self.rate
        self._start_over()

    def step(self, measured: float) -> None:
        """A measurement that is no number is left out of the mean, and counts as no better."""
        smooth = self._smoothed(measured)
        if self._resting > 0:
            self._resting -= 1
            self._good = self._bad = 0
            return
        if smooth < self._best - self.threshold:
            self._best, self._good, self._bad = smooth, self._good + 1, 0
        else:
            self._good, self._bad = 0, self._bad + 1
        if self._good > self.patience:
            self._raise()
        elif self._bad > self.patience:
            self._lower()

    def _smoothed(self, measured: float) -> float:
        if not math.isfinite(measured):
            return math.inf
        self._seen.append(measured)
        return sum(self._seen) / len(self._seen)

    def _raise(self) -> None:
        higher = min(self.rate / self.factor, self.most_rate)
        if higher - self.rate > self.least_change:
            self.rate = higher
        self._at_least, self._good, self._resting = 0, 0, self.warmup

    def _lower(self) -> None:
        lower = max(self.rate * self.factor, self.least_rate)
        if self.rate - lower > self.least_change:
            self.rate = lower
        if self.rate <= self.least_rate:
            self._at_least += 1
            if self._at_least >= self.reset_after:
                self.rate = self._first
                self._start_over()
        self._bad, self._resting = 0, self.cooldown

    def _start_over(self) -> None:
        self._best = math.inf
        self._good = self._bad = self._resting = self._at_least = 0
        self._seen: deque[float] = deque(maxlen=self.window)


def _rule(problem: AbstractProblem, first_rate: float) -> GreedyRule:
    """Stays within a hundredth and ten times of the first rate."""
    looks = evaluations(problem)
    return GreedyRule(
        first_rate,
        patience=max(1, round(0.01 * looks)),
        window=max(1, round(0.05 * looks)),
        least_rate=0.01 * first_rate,
        most_rate=10 * first_rate,
    )


METHOD = FeedbackMethod("greedy", "GreedyLR", _rule, watches="loss")
