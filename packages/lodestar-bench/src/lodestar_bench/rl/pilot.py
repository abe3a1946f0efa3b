"""A run under a learned controller, but for the policy: when it looks, what it sees, what its actions do.

Comes in: stretches of a run as they are made, and actions. Goes out: rates, and a vector whenever a decision is due.
The environment that trains a policy and the controller that uses it share this, so that both live in the same world.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lodestar_bench.method import AbstractLook
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.rl.law import AbstractLaw
from lodestar_bench.rl.senses import AbstractSenses, Sensed

OFTEN = 0.025  # of the run between two decisions; where evaluations are rarer than SELDOM, SELDOM
SELDOM = 0.05

SensesOf = Callable[[AbstractProblem], AbstractSenses]
LawOf = Callable[[float, int], AbstractLaw]


def decision_every(problem: AbstractProblem) -> int:
    """Updates between two decisions: some evaluations apart, so that what is measured anyway is enough."""
    apart = problem.evaluate_every
    if apart > SELDOM * problem.total_steps:
        return max(1, round(SELDOM * problem.total_steps))
    return apart * max(1, round(OFTEN * problem.total_steps / apart))


class Pilot:
    """Sees one run and acts on it. The first stretch is made at the first rate, before anything was seen."""

    def __init__(self, problem: AbstractProblem, senses: SensesOf, law: LawOf, first_rate: float):
        self.every = decision_every(problem)
        self._total = problem.total_steps
        self._senses, self._law = senses(problem), law(first_rate, problem.total_steps)
        self._losses: list[float] = []

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """The rates of these updates, as things stand."""
        return self._law.rates(first, count)

    def act(self, action: float) -> None:
        """Choose the rate of what comes next."""
        self._law.act(float(np.clip(action, -1, 1)))

    def see(self, first: int, losses: NDArray[np.float64], look: AbstractLook) -> NDArray[np.float32] | None:
        """What there is to see after these updates, if a decision is due after them."""
        self._losses.extend(losses)
        step = first + len(losses) - 1
        if step % self.every and step < self._total:
            return None
        rate = float(self._law.rates(step, 1)[0])
        moment = Sensed(float(np.mean(self._losses)), rate, step / self._total, look)
        self._losses.clear()
        return self._senses.see(moment)
