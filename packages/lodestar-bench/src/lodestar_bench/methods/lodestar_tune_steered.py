"""The whole of `lodestar tune --final` within a budget: a search for a schedule, a fit to its runs, and then steering.

Comes in: as many runs as a method may spend; the fit is charged as one of them. Goes out: a forecaster file with the
schedule that was found beside it, and controllers that begin with that schedule and steer.
"""

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path

from lodestar.runs import RunSet, Scalar
from lodestar.scheduler import Scheduler
from lodestar_bench._errors import BenchError
from lodestar_bench.method import AbstractController
from lodestar_bench.methods import lodestar_default
from lodestar_bench.methods.lodestar_tune import TunedMethod
from lodestar_bench.methods.steered import Steered, fresh_log
from lodestar_bench.plan import FIT
from lodestar_bench.problem import AbstractProblem


@dataclasses.dataclass(frozen=True)
class TunedAndSteered(TunedMethod):
    """A search, a fit, and a `Scheduler` in every run."""

    name: str = "lodestar-tune-steered"
    title: str = "Lodestar, tuned from nothing, steered"

    def controller(
        self, problem: AbstractProblem, value: float, *, seed: int, knowledge: Path | None
    ) -> AbstractController:
        """A scheduler that begins with the schedule that was found."""
        del value
        if knowledge is None:
            raise BenchError(
                f"method {self.name!r} steers with a forecaster, and none was given. Fix: knowledge=the file that "
                "learn(problem, path, allowed_runs=25) left"
            )
        log = fresh_log(knowledge, self.name, seed)
        found = _beside(knowledge).read_text()
        return Steered(Scheduler(knowledge, problem.total_steps, seed=seed, log=log, initial_plan=found))

    def learn(
        self, problem: AbstractProblem, path: Path, *, seed: int, runs: RunSet | None, allowed_runs: int
    ) -> Mapping[str, Scalar]:
        """Search, then fit to what the search made."""
        from lodestar.fitting import fit

        del runs
        began = time.perf_counter()
        result, made, facts = self.search(problem, path, seed=seed, allowed_runs=allowed_runs - FIT)
        if result.choice is None:
            raise BenchError(
                f"the search of {allowed_runs - FIT} runs found no schedule: {result.note or 'all failed'}"
            )
        assert result.choice.words  # every trial of a search states its five numbers
        forecaster = fit(made, seed=seed, **lodestar_default.METHOD.fits[problem.scale])
        _beside(path).write_text(result.choice.words)
        forecaster.save(path)
        return {**facts, "seconds": time.perf_counter() - began, "runs_learned_from": len(made)}


def _beside(path: Path) -> Path:
    """The words for the schedule that was found."""
    return path.with_name(f"{path.name}.plan")


METHOD = TunedAndSteered()
