"""What a worker does to find out what an epoch costs: some updates at a constant rate, or a scheduler run on a tape.

Comes in: a trial's settings. Goes out: seconds an epoch takes, by the clock and by the processor. On one thread of an
idle machine the two are the same; on a busy one only the processor's time means anything. Updates are those of the
bench's own compiled programs. A scheduler's work depends on what it observes and on no model, so it is timed on the
losses and metrics of a run that was made before. Nothing is learned, nothing judged.
"""

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lodestar.runs import Run, RunStore, Scalar
from lodestar.scheduler import Scheduler
from lodestar.sweep import ReportFunction
from lodestar_bench import methods, tasks
from lodestar_bench.methods.steered import Steered
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.training import Look, Training

FUNCTION = "lodestar_bench.paper.cost_trial:time_epoch"
ENOUGH = 0.8  # seconds of updates in a trial, if an epoch lasts longer


def time_epoch(*, seed: int, report: ReportFunction, settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The function that the sweep's runner calls."""
    problem = tasks.problem(str(settings["task"]), str(settings["scale"]))
    timed = _steering if "knowledge" in settings else _updates
    wall, processor = timed(problem, seed, settings)
    report(1, loss=0.0, metric=0.0, lr=1.0)
    return {"epoch_seconds": wall, "epoch_cpu_seconds": processor}


def _updates(problem: AbstractProblem, seed: int, settings: Mapping[str, Scalar]) -> tuple[float, float]:
    """Updates of a method's optimizer; the first stretch, which compiles, is not counted."""
    value = float(settings["value"])
    optimizer = methods.method(str(settings["method"])).optimizer(problem, value)
    training = Training(problem, optimizer, seed=seed, first_rate=value)
    _advance(training, value)
    first, wall, processor = training.step, time.perf_counter(), time.process_time()
    limit = min(problem.total_steps, first + problem.steps_per_epoch)
    while training.step < limit and not training.done and time.process_time() - processor < ENOUGH:
        _advance(training, value)
    share = problem.steps_per_epoch / (training.step - first)
    return share * (time.perf_counter() - wall), share * (time.process_time() - processor)


def _advance(training: Training, rate: float) -> None:
    training.advance(np.full(training.next_evaluation() - training.step, rate))


def _steering(problem: AbstractProblem, seed: int, settings: Mapping[str, Scalar]) -> tuple[float, float]:
    """A scheduler's own work in a whole run, shared out over its epochs."""
    run = RunStore.open(str(settings["store"])).read([str(settings["run"])])[0]
    window, samples = float(settings["window"]), int(settings["samples"])
    controller = Steered(
        Scheduler(Path(str(settings["knowledge"])), run.total_steps, seed=seed, window=window, samples=samples)
    )
    wall, processor = time.perf_counter(), time.process_time()
    replay(controller, run, problem.evaluate_every)
    epochs = run.total_steps / problem.steps_per_epoch
    return (time.perf_counter() - wall) / epochs, (time.process_time() - processor) / epochs


def replay(controller: Steered, run: Run, evaluate_every: int) -> None:
    """Ask and tell a controller all that it was asked and told in a run of these losses and metrics."""
    losses = np.interp(np.arange(1, run.total_steps + 1), run.loss.steps, run.loss.values)
    metrics = dict(zip(run.metric.steps.tolist(), run.metric.values.tolist(), strict=True))
    step = 0
    while step < run.total_steps:
        stops = ((step // every + 1) * every for every in (evaluate_every, controller.every) if every)
        end = min(run.total_steps, *stops)
        controller.rates(step + 1, end - step)
        controller.observe(step + 1, losses[step:end], metrics.get(end), _NoLook())
        step = end


class _NoLook(Look):
    """A scheduler looks at no model."""

    def __init__(self):
        pass
