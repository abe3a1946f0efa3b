"""What a worker does for the bench: one training run, or one learning, as a trial of the sweep's runner.

Comes in: a trial's settings (task, scale, method, value, stage, paths) and its seed. Goes out: reports of the curves,
and facts: test metric at the best validation, seconds, epochs. Problems and methods stay in the process, so that each
compiles once in a worker. Which trials there are, and what becomes of the runs, is not known here.
"""

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.runs import Run, RunStore, Scalar, Status
from lodestar.sweep import ReportFunction, Schedule
from lodestar_bench import methods, tasks
from lodestar_bench._errors import BenchError
from lodestar_bench.blocks import OWN
from lodestar_bench.compiling import compiling
from lodestar_bench.kept_programs import keep_programs
from lodestar_bench.method import AbstractMethod
from lodestar_bench.methods.schedule import ScheduleMethod
from lodestar_bench.optimizers.forms import FORMS
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.results import LEARN, SWEEP
from lodestar_bench.train import train as make_run

FUNCTION = "lodestar_bench.work:train"
PROGRAMS = "LODESTAR_BENCH_PROGRAMS"
"""Names the folder in which workers keep compiled programs; workers inherit it."""


def train(
    *, schedule: Schedule | None = None, seed: int, report: ReportFunction, settings: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    """The function that the sweep's runner calls."""
    if os.environ.get(PROGRAMS):
        keep_programs(Path(os.environ[PROGRAMS]))
    problem = tasks.problem(str(settings["task"]), str(settings["scale"]), str(settings.get("block", OWN)))
    if settings["stage"] == LEARN:
        return _learn(problem, methods.method(str(settings["method"])), seed, report, settings)
    if settings["stage"] == SWEEP:
        return _run(problem, _of_a_sweep(schedule, str(settings["form"])), seed, report, settings)
    return _run(problem, methods.method(str(settings["method"])), seed, report, settings)


def _run(
    problem: AbstractProblem, method: AbstractMethod, seed: int, report: ReportFunction, settings: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    began, compiled = time.perf_counter(), compiling().seconds
    value = float(settings.get("value", math.nan))
    knowledge = Path(str(settings["knowledge"])) if "knowledge" in settings else None
    outcome = make_run(problem, method, value, seed=seed, knowledge=knowledge, report=_Live(report))
    _report_curves(outcome.run, report)
    found: dict[str, Scalar] = {
        **outcome.run.facts.extra,
        "epochs": outcome.run.last_step / problem.steps_per_epoch,
        "seconds": time.perf_counter() - began,
        "seconds_compiling": compiling().seconds - compiled,
    }
    if len(outcome.run.metric) and outcome.status is Status.FINISHED:
        found["first_metric"] = float(outcome.run.metric.values[0])
    return found


class _Live:
    """Passes on the metrics of a run under way, for the display. Its loss comes at the end, averaged into points."""

    def __init__(self, report: ReportFunction):
        self._report = report

    def __call__(
        self, step: int, *, loss: float | None = None, metric: float | None = None, lr: float | None = None
    ) -> None:
        del loss
        if metric is not None:
            self._report(step, metric=metric, lr=lr)


def _report_curves(run: Run, report: ReportFunction) -> None:
    """Loss and rate as the run logged them."""
    rates = dict(zip(run.lr.steps.tolist(), run.lr.values.tolist(), strict=True))
    losses = dict(zip(run.loss.steps.tolist(), run.loss.values.tolist(), strict=True))
    for step in sorted({*rates, *losses}):
        report(step, loss=losses.get(step), lr=rates.get(step))


def _learn(
    problem: AbstractProblem, method: AbstractMethod, seed: int, report: ReportFunction, settings: Mapping[str, Scalar]
) -> dict[str, Scalar]:
    """Let a method learn; the file it leaves is what its final runs are made with."""
    path = Path(str(settings["knowledge"]))
    runs = None
    if "sources" in settings:
        runs = RunStore.open(str(settings["store"])).read(json.loads(Path(str(settings["sources"])).read_text()))
    path.parent.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    found = method.learn(problem, path, seed=seed, runs=runs, allowed_runs=int(settings["allowed_runs"]))
    if not path.exists():
        raise BenchError(f"method {method.name!r} left no file at {path}. Fix: let learn() write what it learned there")
    report(1, loss=float(found.get("held_out_error", 0.0)))  # a trial has a loss; only Lodestar's learning has one
    return {**_plain(found), "seconds": time.perf_counter() - began}


def _of_a_sweep(schedule: Schedule | None, form: str) -> AbstractMethod:
    if schedule is None:
        raise BenchError("a run of a sweep needs a schedule, and the trial has none")
    return ScheduleMethod("sobol", "schedule of a sweep", "ours", lambda peak, steps: schedule, FORMS[form])


def _plain(found: Mapping[str, Any]) -> dict[str, Scalar]:
    """NumPy's scalars as Python's own."""
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in found.items()}
