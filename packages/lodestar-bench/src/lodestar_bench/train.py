"""Trains a model with a method: one run of the bench, from a seed to its test figures.

Comes in: a problem, a method, one value of the method's grid, a seed. Goes out: a `TrainingOutcome`, with the run as a
tracker would have kept it and the test metric at the point of best validation (as in the paper). A pure function: the
same arguments give the same run, bit for bit. Tuning, seeds and tables are not known here.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from lodestar.runs import Facts, Run, Scalar, Status
from lodestar_bench.method import AbstractController, AbstractLook, AbstractMethod
from lodestar_bench.problem import AbstractProblem, Figures, ModelState, Params
from lodestar_bench.training import Look, Seconds, Training

NOTHING = Figures(math.nan, math.nan)


class OnEvaluation(Protocol):
    """Told of every evaluation as it happens (a sweep's report fits)."""

    def __call__(
        self, step: int, *, loss: float | None = None, metric: float | None = None, lr: float | None = None
    ) -> None: ...


Watch = Callable[[int, AbstractLook], None]


@dataclasses.dataclass(frozen=True)
class TrainingOutcome:
    """What a run came to. A run that diverged before its first evaluation has NaN figures and `best_step` 0.

    `test` is measured with the weights of the best validation metric, `test_at_end` with the last ones; `params` and
    `state` are those of the end, there if they were asked for.
    """

    run: Run
    best_step: int
    validation: Figures
    test: Figures
    test_at_end: Figures
    seconds: Seconds
    params: Params | None = None
    state: ModelState | None = None

    @property
    def status(self) -> Status:
        """Whether it finished or diverged."""
        return self.run.status


def train(
    problem: AbstractProblem,
    method: AbstractMethod,
    value: float,
    *,
    seed: int,
    knowledge: Path | None = None,
    report: OnEvaluation | None = None,
    watch: Watch | None = None,
    keep_weights: bool = False,
) -> TrainingOutcome:
    """Make one run. `watch(step, look)` is called at every evaluation, with the weights the model is judged by."""
    began = time.perf_counter()
    controller = method.controller(problem, value, seed=seed, knowledge=knowledge)
    first_rate = float(controller.rates(1, 1)[0])
    training = Training(problem, method.optimizer(problem, value), seed=seed, first_rate=first_rate)
    training.seconds.controller += time.perf_counter() - began
    while not training.done:
        _go_on(training, controller, report, watch)
    return _outcome(training, method, value, controller, keep_weights)


def _go_on(
    training: Training, controller: AbstractController, report: OnEvaluation | None, watch: Watch | None
) -> None:
    """Up to the next place where anyone looks, and the look."""
    first, due = training.step + 1, training.next_evaluation()
    end = due
    if controller.every is not None:
        end = min(due, (training.step // controller.every + 1) * controller.every)
    began = time.perf_counter()
    rates = controller.rates(first, end - training.step)
    training.seconds.controller += time.perf_counter() - began
    if len(rates) != end - training.step:
        raise ValueError(f"rates({first}, {end - training.step}) must give as many rates, got {len(rates)}")
    losses, measured = training.advance(rates), None
    look = training.look()
    if end == due and not training.diverged:
        measured = training.measure(look).metric
        if watch is not None:
            watch(training.step, look)
    _tell(training, controller, first, losses, measured, look)
    if report is not None and (measured is not None or training.done):
        report(training.step, loss=float(losses[-1]), metric=measured, lr=training.last_rate)


def _tell(training: Training, controller: AbstractController, first: int, losses, metric, look: Look) -> None:
    """Let the controller observe; what it evaluates by itself counts as evaluation, not as its own time."""
    began, evaluated = time.perf_counter(), training.seconds.evaluate
    controller.observe(first, losses, metric, look)
    elsewhere = training.seconds.evaluate - evaluated
    training.seconds.controller += time.perf_counter() - began - elsewhere


def _outcome(
    training: Training, method: AbstractMethod, value: float, controller: AbstractController, keep_weights: bool
) -> TrainingOutcome:
    best, last = training.best, training.look()
    test = training.figures(best.params, best.state, "test") if best else NOTHING
    at_end = NOTHING
    if not training.diverged:
        same = best is not None and best.step == training.step
        at_end = test if same else training.figures(last.params, last.state, "test")
    validation = best.figures if best else NOTHING
    found = {
        "test_metric": test.metric,
        "test_loss": test.loss,
        "test_metric_at_end": at_end.metric,
        "best_metric": validation.metric,
        "best_step": best.step if best else 0,
        "seconds_train": training.seconds.train,
        "seconds_evaluate": training.seconds.evaluate,
        "seconds_controller": training.seconds.controller,
    }
    return TrainingOutcome(
        run=_run(training, method, value, {**controller.facts(), **found}),
        best_step=best.step if best else 0,
        validation=validation,
        test=test,
        test_at_end=at_end,
        seconds=training.seconds,
        params=last.params if keep_weights else None,
        state=last.state if keep_weights else None,
    )


def _run(training: Training, method: AbstractMethod, value: float, found: dict[str, Scalar]) -> Run:
    problem = training.problem
    loss, metric, lr = training.series()
    extra = {"method": method.name, "value": value, "scale": problem.scale, **found}
    finite = {key: item for key, item in extra.items() if not isinstance(item, float) or math.isfinite(item)}
    return Run(
        name=f"{method.name}/{value:g}/{training.seed}",
        loss=loss,
        metric=metric,
        lr=lr,
        direction=problem.direction,
        status=Status.DIVERGED if training.diverged else Status.FINISHED,
        total_steps=problem.total_steps,
        metric_name=problem.metric_name,
        facts=Facts(task=problem.task, schedule=method.name, seed=training.seed, source="lodestar bench", extra=finite),
    )
