"""A gymnasium environment: an episode is one training run, a step is the stretch up to the next decision.

Comes in: a problem, what is seen, what an action does, what is rewarded, and how many runs may be made. Goes out:
observations and rewards for any learner. Episodes go round the recipe's first rates, each with a seed of its own. Once
the allowed runs are used up, a reset begins none. Knows no policy and no learner.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from lodestar_bench.optimizers.forms import own
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.rl.pilot import LawOf, Pilot, SensesOf, decision_every
from lodestar_bench.training import Training

Reward = Callable[[float, float, int], float]
"""Of the validation loss at the last decision, the one now, and the number of decisions the run still stands for."""


def level(before: float, now: float, stands_for: int) -> float:
    """Minus the validation loss (Xu et al. 2019, and the public implementation): a run is judged all along its way."""
    del before
    return -now * stands_for


def decrease(before: float, now: float, stands_for: int) -> float:
    """How far the validation loss fell since the last decision (Xiong et al. 2022)."""
    del stands_for
    return before - now


@dataclasses.dataclass
class Episode:
    """What became of a run: its first rate, its best validation metric, the sum of its rewards."""

    first_rate: float
    best: float = math.nan
    total_reward: float = 0.0
    diverged: bool = False


class Episodes(gymnasium.Env):
    """Training runs of `problem`, at most `allowed` of them. The seeds follow from `seed`."""

    def __init__(
        self,
        problem: AbstractProblem,
        senses: SensesOf,
        law: LawOf,
        reward: Reward,
        *,
        seed: int,
        allowed: int,
        first_rates: tuple[float, ...] | None = None,
    ):
        self.problem, self.allowed = problem, allowed
        self.done: list[Episode] = []
        self.decisions = math.ceil(problem.total_steps / decision_every(problem)) - 1
        self._senses, self._law, self._reward = senses, law, reward
        self._first_rates = first_rates or problem.recipe.rates
        self._seeds = np.random.default_rng(seed).integers(2**31, size=allowed)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (senses(problem).size,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Begin the next run, and make its first stretch."""
        super().reset(seed=seed)
        nothing = np.zeros(self.observation_space.shape or (), np.float32)
        if len(self.done) >= self.allowed:
            return nothing, {}
        place = len(self.done)
        self._now = Episode(self._first_rates[place % len(self._first_rates)])
        rate, run_seed = self._now.first_rate, int(self._seeds[place])
        self._training = Training(self.problem, own(self.problem.recipe), seed=run_seed, first_rate=rate)
        self._pilot = Pilot(self.problem, self._senses, self._law, rate)
        self._decided = 0
        self._loss = self._start = 1.0
        seen = self._stretch()
        self._loss = self._start = self._judged()
        return (nothing if seen is None else seen), {}

    def step(self, action: NDArray):
        """Act, make the next stretch, see what came of it."""
        before = self._loss
        self._pilot.act(float(np.asarray(action).reshape(-1)[0]))
        self._decided += 1
        seen = nothing = np.zeros(self.observation_space.shape or (), np.float32)
        if not self._training.done:  # it may have diverged in the first stretch
            found = self._stretch()
            seen = nothing if found is None else found
        self._loss = self._judged()
        stands_for = max(1, self.decisions - self._decided + 1) if self._training.diverged else 1
        reward = self._reward(before, self._loss, stands_for)
        self._now.total_reward += reward
        over = self._training.done
        if over:
            self._finish()
        return seen, reward, over, False, {}

    def _stretch(self) -> NDArray[np.float32] | None:
        """Updates up to the next decision."""
        seen = None
        while seen is None and not self._training.done:
            first = self._training.step + 1
            end = min(
                self._training.next_evaluation(), (self._training.step // self._pilot.every + 1) * self._pilot.every
            )
            losses = self._training.advance(self._pilot.rates(first, end - self._training.step))
            look = self._training.look()
            if self._training.step % self.problem.evaluate_every == 0 or self._training.done:
                self._training.measure(look)
            self._look = look
            seen = self._pilot.see(first, losses, look)
        return seen

    def _judged(self) -> float:
        """The validation loss now; where the run is lost, ten times that of the start."""
        loss = self._look.validation().loss
        lost = self._training.diverged or not math.isfinite(loss)
        return 10 * self._start if lost else min(loss, 10 * self._start)

    def _finish(self) -> None:
        best = self._training.best
        self._now.best = best.figures.metric if best else math.nan
        self._now.diverged = self._training.diverged
        self.done.append(self._now)
