"""The schedule that `lodestar tune` ends with, replayed: what Lodestar makes of a budget that it spends itself.

Comes in: as many runs as a method may spend. Goes out: a schedule, the same for every final run. Nothing is steered,
and no forecaster is fitted. Peaks lie within the recipe's own span of rates.
"""

import dataclasses
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lodestar.runs import RunSet, RunStore, Scalar
from lodestar.schedules import Schedule
from lodestar_bench._errors import BenchError
from lodestar_bench.method import AbstractController
from lodestar_bench.methods.recipes_own import AbstractTaught
from lodestar_bench.methods.schedule import Scheduled
from lodestar_bench.problem import AbstractProblem

if TYPE_CHECKING:
    from lodestar.tuning import TuneResult


@dataclasses.dataclass(frozen=True)
class TunedMethod(AbstractTaught):
    """A search over schedules within the budget; its last word is followed."""

    name: str = "lodestar-tune"
    title: str = "Lodestar, tuned from nothing, its plan replayed"
    group: Literal["paper", "modern", "ours"] = "ours"
    learns: Literal["nothing", "by training", "from runs"] = "by training"

    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """The schedule that was found."""
        del problem, value, seed
        if knowledge is None:
            raise BenchError(
                f"method {self.name!r} follows a schedule that it found, and none was given. Fix: knowledge=the file "
                "that learn(problem, path, allowed_runs=25) left"
            )
        return Scheduled(Schedule.from_json(knowledge))

    def learn(
        self, problem: AbstractProblem, path: Path, *, seed: int, runs: RunSet | None, allowed_runs: int
    ) -> Mapping[str, Scalar]:
        """Search."""
        del runs
        began = time.perf_counter()
        result, _, facts = self.search(problem, path, seed=seed, allowed_runs=allowed_runs)
        if result.choice is None:
            raise BenchError(f"the search of {allowed_runs} runs found no schedule: {result.note or 'all runs failed'}")
        result.choice.schedule.to_json(path)
        return {**facts, "seconds": time.perf_counter() - began}

    def search(
        self, problem: AbstractProblem, path: Path, *, seed: int, allowed_runs: int
    ) -> tuple["TuneResult", RunSet, dict[str, Scalar]]:
        """What it ends with, its runs, and what it took.

        Begun anew after a kill: what a search made so far lies in a folder beside `path` that is cleared first.
        """
        from lodestar.tuning import tune
        from lodestar_bench.train_here import TrainHere

        executor = TrainHere(problem, self.optimizer(problem, float("nan")))
        place = path.with_name(f"{path.name}.search")
        shutil.rmtree(place, ignore_errors=True)
        given: dict[str, Any] = {"executor": executor, "fit": False, "spend_all": True, "task": problem.task}
        result = tune(
            "lodestar_bench:search",
            out=place / "runs",
            seed=seed,
            budget=allowed_runs,
            total_steps=problem.total_steps,
            peak=(min(problem.recipe.rates), max(problem.recipe.rates)),
            space="averaged" if problem.recipe.averaged else "sobol",
            direction=str(problem.direction),
            **given,
        )
        facts = {
            "training_runs": executor.updates / problem.total_steps,
            "trials": result.runs,
            "stopped": result.pruned,
        }
        return result, RunStore.open(place / "runs").read(), facts


METHOD = TunedMethod()
