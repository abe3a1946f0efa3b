"""`lodestar tune` over small sizes of a job, as the studies run it: through its Python entry, trained in this process.

Comes in: a case, the sizes as divisors, the work in full runs and the most runs. Goes out: the schedule for the full
job, and what the search cost and learned. A small run is charged by its share of the parameters.
"""

import dataclasses
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from lodestar.runs import Run, RunStore
from lodestar.schedules import Schedule
from lodestar.sweep import Done, Event, Job, Trial
from lodestar.tuning import tune
from lodestar_bench.arena.contestant import Sweep
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.train_here import AbstractHere, TrainHere

if TYPE_CHECKING:
    from lodestar_bench.studies.sizes import Case

_SEED = 100  # of the first search: its runs have seeds from 100,000 on


@dataclasses.dataclass(frozen=True)
class Searched:
    """What it ended with; `runs` are those of the search."""

    schedule: Schedule
    facts: dict[str, Any]
    runs: list[Run] = dataclasses.field(repr=False)


class OfSizes(AbstractHere):
    """Trials of several sizes, with one compiled program for each."""

    def __init__(self, case: "Case"):
        super().__init__()
        self._case, self._here, self._parameters = case, {}, {}

    def run(self, job: Job, trials: Iterable[Trial]) -> Iterator[Event]:
        """As a function that returns its number of parameters."""
        for event in super().run(job, trials):
            if isinstance(event, Done):
                extra = {**event.run.facts.extra, "parameters": self._parameters[_smaller(event.trial)]}
                facts = dataclasses.replace(event.run.facts, extra=extra)
                event = dataclasses.replace(event, run=dataclasses.replace(event.run, facts=facts))
            yield event

    def _train(self, trial: Trial) -> Iterator[tuple[int, float, float | None]]:
        smaller = _smaller(trial)
        if smaller not in self._here:
            problem = self._case.problem(smaller)
            self._here[smaller] = TrainHere(problem, Sweep(form=self._case.form).optimizer(problem))
            self._parameters[smaller] = parameters(problem)
        yield from self._here[smaller]._train(trial)


def parameters(problem: AbstractProblem) -> int:
    """Of its network."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(problem.begin(0)[0]))


def cost(case: "Case", smaller: Sequence[int], runs: int) -> float:
    """The work of so many runs, as many at each size, in full runs."""
    whole = parameters(case.problem())
    return sum(parameters(case.problem(times)) / whole for times in smaller) * runs / len(smaller)


def search(case: "Case", smaller: Sequence[int], *, work: float, runs: int) -> Searched:
    """One search."""
    problem = case.problem()
    rates = problem.recipe.rates
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "runs"
        result = tune(
            "small:train",
            out=out,
            seed=_SEED + case.sweep,
            budget=work,
            runs=runs,
            total_steps=problem.total_steps,
            peak=(min(rates), max(rates)),
            space="averaged" if case.form == "averaged" else "sobol",
            sizes=[1 / times for times in smaller],
            size=1.0,
            executor=OfSizes(case),
            direction=str(problem.direction),
            task=case.task,
            fit=False,
        )
        made = list(RunStore.open(out).read())
    assert result.choice is not None
    counts = {f"{times}": sum(_smaller_of(run) == times for run in made) for times in smaller}
    facts = {"spent": result.spent, "counts": counts, "words": result.choice.words, "edge": result.edge}
    return Searched(result.choice.schedule, facts, made)


def _smaller(trial: Trial) -> int:
    return round(1 / float(trial.settings["size"]))


def _smaller_of(run: Run) -> int:
    return round(1 / float(run.facts.extra["size"]))
