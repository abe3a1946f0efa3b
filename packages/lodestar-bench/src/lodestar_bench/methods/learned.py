"""Methods with a controller that learns by training: reinforcement, an episode a training run.

Comes in: what is seen, what an action does, what is rewarded. Goes out: a method that spends its allowed runs on
learning, round the recipe's five first rates, and then starts from the rate whose runs had the best mean validation
metric. Nothing is left to tune. How the policy learns is `rl/ppo.py`'s affair.
"""

import dataclasses
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import RunSet, Scalar
from lodestar_bench._errors import BenchError
from lodestar_bench.method import AbstractController, AbstractLook
from lodestar_bench.methods.recipes_own import AbstractTaught
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.rl.pilot import LawOf, Pilot, SensesOf
from lodestar_bench.rl.policy import Policy, load

if TYPE_CHECKING:
    from lodestar_bench.rl.episodes import Episode


class Flown(AbstractController):
    """A policy at the wheel."""

    def __init__(self, policy: Policy, pilot: Pilot):
        self.policy, self.pilot = policy, pilot
        self.every = pilot.every
        self.actions: list[float] = []

    def rates(self, first: int, count: int) -> NDArray[np.float64]:
        """As the last action left them."""
        return self.pilot.rates(first, count)

    def observe(self, first: int, losses: NDArray[np.float64], metric: float | None, look: AbstractLook) -> None:
        """Look and act, where a decision is due."""
        del metric
        seen = self.pilot.see(first, losses, look)
        if seen is not None:
            self.actions.append(self.policy.action(seen))
            self.pilot.act(self.actions[-1])

    def facts(self) -> Mapping[str, Scalar]:
        """How many actions, and their mean."""
        mean = float(np.mean(self.actions)) if self.actions else 0.0
        return {"actions": len(self.actions), "mean_action": mean}


@dataclasses.dataclass(frozen=True)
class LearnedMethod(AbstractTaught):
    """A controller trained by PPO."""

    name: str
    title: str
    kind: Literal["summary", "graph"]
    senses: SensesOf
    law: LawOf
    reward: Literal["level", "decrease"]
    group: Literal["paper", "modern", "ours"] = "paper"
    learns: Literal["nothing", "by training", "from runs"] = "by training"

    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """The learned policy, from the first rate it chose."""
        del value, seed
        if knowledge is None:
            raise BenchError(
                f"method {self.name!r} acts by a learned policy, and none was given. Fix: knowledge=the file that "
                "learn(problem, path, allowed_runs=25) left"
            )
        policy = load(knowledge)
        if policy.about["kind"] != self.kind:
            raise BenchError(
                f"{knowledge} holds a {policy.about['kind']!r} policy, method {self.name!r} needs {self.kind!r}"
            )
        return Flown(policy, Pilot(problem, self.senses, self.law, float(policy.about["first_rate"])))

    def learn(
        self, problem: AbstractProblem, path: Path, *, seed: int, runs: RunSet | None, allowed_runs: int
    ) -> Mapping[str, Scalar]:
        """Make the allowed runs, learning on the way."""
        del runs
        if allowed_runs < 1:
            raise BenchError(f"method {self.name!r} learns by training and needs allowed_runs >= 1, got {allowed_runs}")
        from lodestar_bench.rl import episodes as world
        from lodestar_bench.rl import ppo

        began = time.perf_counter()
        reward = world.level if self.reward == "level" else world.decrease
        episodes = world.Episodes(problem, self.senses, self.law, reward, seed=seed, allowed=allowed_runs)
        kinds = getattr(getattr(self.senses(problem), "graph", None), "kinds", ())
        arrays = ppo.learn(episodes, kind=self.kind, kinds=kinds, seed=seed)
        about = {"kind": self.kind, "task": problem.task, "scale": problem.scale, "seed": seed}
        about |= {"first_rate": best_first_rate(problem, episodes.done), "episodes": _told(episodes.done)}
        Policy(about, arrays).save(path)
        return {
            "seconds": time.perf_counter() - began,
            "training_runs": len(episodes.done),
            "diverged": sum(episode.diverged for episode in episodes.done),
            "first_rate": about["first_rate"],
            "first_reward": episodes.done[0].total_reward,
            "last_reward": episodes.done[-1].total_reward,
        }


def best_first_rate(problem: AbstractProblem, done: list["Episode"]) -> float:
    """The first rate whose runs had the best mean validation metric; one lost run rules a rate out, if it can."""
    by_rate: dict[float, list[float]] = {}
    for episode in done:
        by_rate.setdefault(episode.first_rate, []).append(math.nan if episode.diverged else episode.best)
    means = {rate: float(np.mean(bests)) for rate, bests in by_rate.items()}
    known = {rate: mean for rate, mean in means.items() if math.isfinite(mean)}
    if not known:
        rates = sorted(problem.recipe.rates)
        return rates[0]
    return (max if problem.direction == "max" else min)(known, key=lambda rate: known[rate])


def _told(done: list["Episode"]) -> list[dict[str, Any]]:
    """The episodes as plain data, None for what is not a number."""
    return [
        {
            name: None if isinstance(v, float) and not math.isfinite(v) else v
            for name, v in dataclasses.asdict(e).items()
        }
        for e in done
    ]
