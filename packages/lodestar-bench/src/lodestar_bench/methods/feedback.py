"""Methods that change a running rate when they are told how it goes: one number an evaluation, one rate until the next.

Comes in: a rule. Goes out: a controller, or a whole method tuned over the recipe's first rates. The rule sees what was
measured and says the rate from here on; updates that were made keep theirs. Knows nothing of what the rule does.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Scalar
from lodestar_bench.method import AbstractController, AbstractLook
from lodestar_bench.methods.recipes_own import AbstractOnRecipe
from lodestar_bench.problem import AbstractProblem


class AbstractRule(abc.ABC):
    """A rate, and what moves it."""

    rate: float

    @abc.abstractmethod
    def step(self, measured: float) -> None:
        """One more measurement (smaller or larger is better, as the rule was built); `rate` holds from here on."""


class Feedback(AbstractController):
    """Feeds a rule with the validation metric, or with the mean training loss, at every evaluation."""

    def __init__(self, rule: AbstractRule, *, watches: Literal["metric", "loss"]):
        self.rule, self.watches = rule, watches
        self.changes = 0

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The rate as it stands."""
        del first
        return np.full(count, self.rule.rate)

    def observe(self, first: int, losses: NDArray[np.float64], metric: float | None, look: AbstractLook) -> None:
        """One step of the rule where a metric was measured."""
        del first, look
        if metric is None:
            return
        before = self.rule.rate
        self.rule.step(metric if self.watches == "metric" else float(np.mean(losses)))
        self.changes += self.rule.rate != before

    def facts(self) -> Mapping[str, Scalar]:
        """How often the rate was changed."""
        return {"rate_changes": self.changes}


@dataclasses.dataclass(frozen=True)
class FeedbackMethod(AbstractOnRecipe):
    """A rule on the recipe's optimizer. `rule(problem, first rate)` builds one for each run."""

    name: str
    title: str
    rule: Callable[[AbstractProblem, float], AbstractRule]
    watches: Literal["metric", "loss"]
    group: Literal["paper", "modern", "ours"] = "modern"

    def grid(self, problem: AbstractProblem) -> tuple[float, ...]:
        """First rates."""
        return problem.recipe.rates

    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """Starts at `value`."""
        del seed, knowledge
        return Feedback(self.rule(problem, value), watches=self.watches)


def evaluations(problem: AbstractProblem) -> int:
    """How many evaluations a run has."""
    return -(-problem.total_steps // problem.evaluate_every)
