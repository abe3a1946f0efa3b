"""What a worker does for the sharpness item: makes a final run again and measures the curvature of its loss on the way.

Comes in: a trial's settings (task, method, its chosen value, how many examples, a file) and its seed. Goes out: a JSON
file with a line for each place of the run that was measured (format version 1). The loss is the one that is trained, on
the same examples for every run. Its dropout and augmentation are drawn once, for each example by itself, so that its
Hessian estimates that of the expected loss. Which runs are made again, and what comes of the figures, is not known.
"""

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lodestar import _disk
from lodestar.runs import Scalar
from lodestar.schedule_free.optax import ScheduleFreeState
from lodestar.sweep import ReportFunction, Schedule
from lodestar_bench import methods, tasks
from lodestar_bench.curvature import Sharpness
from lodestar_bench.curvature.jax import Curvature, adam_preconditioner
from lodestar_bench.method import AbstractLook
from lodestar_bench.problem import AbstractProblem, Batch
from lodestar_bench.train import train as make_run
from lodestar_bench.training import Look

FUNCTION = "lodestar_bench.paper.probe_sharpness:train"
VERSION = 1


def train(
    *, schedule: Schedule | None = None, seed: int, report: ReportFunction, settings: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    """The function that the sweep's runner calls."""
    del schedule
    problem = tasks.problem(str(settings["task"]), str(settings["scale"]))
    gauge = gauge_of(problem, int(settings["examples"]), int(settings["gauge_seed"]))
    probe = Probe(problem, gauge, int(settings["places"]), report)
    outcome = make_run(
        problem,
        methods.method(str(settings["method"])),
        float(settings.get("value", math.nan)),
        seed=seed,
        knowledge=Path(str(settings["knowledge"])) if "knowledge" in settings else None,
        report=probe.report,
        watch=probe.watch,
    )
    found = {"lodestar sharpness": VERSION, "status": str(outcome.status), "test": outcome.test.metric}
    data = json.dumps(_no_nan({**found, "points": probe.points}), indent=1) + "\n"
    _disk.write_whole(Path(str(settings["file"])), data.encode())
    return {"test_metric": outcome.test.metric} if math.isfinite(outcome.test.metric) else {}


class Gauge:
    """The loss on some training examples, the same for every run of a task, and its curvature; compiled once."""

    def __init__(self, problem: AbstractProblem, examples: int, seed: int):
        self._batch, self._key = examples_of(problem, examples, seed), jax.random.key(seed)
        self._adam = problem.recipe.optimizer in ("adam", "adamw")
        self._b1, self._b2 = problem.recipe.b1, problem.recipe.b2
        self._seed = seed

        def loss(params: Any, given: Any) -> jax.Array:
            state, batch, key = given
            return problem.loss(params, state, batch, key)[0]

        self._curvature = Curvature(loss)

    def measure(self, params: Any, state: Any, optimizer: Any, *, twice: bool) -> dict[str, Any]:
        """By Lanczos; `twice`: by power iteration, and by Lanczos as a second opinion. Preconditioned where Adam is."""
        given = (state, self._batch, self._key)
        lanczos = self._curvature.sharpness(params, given, seed=self._seed, method="lanczos")
        found = _told(lanczos, "lanczos_" if twice else "")
        if twice:
            found |= _told(self._curvature.sharpness(params, given, seed=self._seed + 1), "")
        lowest = lanczos.lowest.value if lanczos.lowest else math.nan
        found |= {"loss": lanczos.loss, "lowest": lowest, "parameters": lanczos.parameters}
        divisor = self._preconditioner(optimizer)
        if divisor is not None:
            scaled = self._curvature.sharpness(
                params, given, seed=self._seed, method="lanczos", preconditioner=divisor, iterations=100
            )
            found |= _told(scaled, "preconditioned_")
        return found

    def _preconditioner(self, optimizer: Any) -> Any:
        """None for an optimizer without the moments of one Adam: schedule-free, averaged weights, Prodigy, SGD."""
        if not self._adam or isinstance(optimizer, ScheduleFreeState):
            return None
        try:
            return adam_preconditioner(optimizer, b1=self._b1, b2=self._b2)
        except ValueError:
            return None


@functools.lru_cache(maxsize=4)
def gauge_of(problem: AbstractProblem, examples: int, seed: int) -> Gauge:
    """The gauge of a problem, kept in the process."""
    return Gauge(problem, examples, seed)


def examples_of(problem: AbstractProblem, examples: int, seed: int) -> Batch:
    """So many training examples as one batch: the first ones in the order of a seed."""
    stacked = problem.batches(seed, 1, -(-examples // problem.batch_size))
    return jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:])[:examples], stacked)


@dataclasses.dataclass
class Probe:
    """Looks at a run at `places` of its evaluations, evenly, the last one always; there with a second opinion."""

    problem: AbstractProblem
    gauge: Gauge
    places: int
    onward: ReportFunction

    def __post_init__(self):
        self.points: list[dict[str, Any]] = []
        self._steps = set(steps(self.problem, self.places))

    def watch(self, step: int, look: AbstractLook) -> None:
        """Measure here, if this is one of the places."""
        if step not in self._steps:
            return
        assert isinstance(look, Look)
        optimizer = look._training._position.optimizer  # Adam's moments; a look shows a method no more than the weights
        last = step == self.problem.total_steps
        found = self.gauge.measure(look.params, look.state, optimizer, twice=last)
        test = self.problem.evaluate(look.params, look.state, "test").metric
        self.points.append({"step": step, **found, "test": test})

    def report(
        self, step: int, *, loss: float | None = None, metric: float | None = None, lr: float | None = None
    ) -> None:
        """Told after `watch`: the rate in effect."""
        if self.points and self.points[-1]["step"] == step:
            self.points[-1]["lr"] = lr
        self.onward(step, loss=loss, metric=metric, lr=lr)


def steps(problem: AbstractProblem, places: int) -> list[int]:
    """The evaluations to measure at."""
    every = np.unique(
        [*range(problem.evaluate_every, problem.total_steps, problem.evaluate_every), problem.total_steps]
    )
    chosen = np.linspace(0, len(every) - 1, min(places, len(every))) if places > 1 else [len(every) - 1]
    return every[np.unique(np.round(chosen).astype(int))].tolist()


def _told(found: Sharpness, prefix: str) -> dict[str, Any]:
    names = ("residual", "converged", "products")
    return {f"{prefix}sharpness": found.value} | {f"{prefix}{name}": getattr(found, name) for name in names}


def _no_nan(value: Any) -> Any:
    """None for what is not a finite number: JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _no_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_no_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
