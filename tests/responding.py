"""Runs that answer to any schedule as training does: gain with the learning done, loss by the rate."""

import dataclasses
import functools
from pathlib import Path

import numpy as np
from tests.fitted_once import fitted_once

from lodestar.fitting.dataset import prepare
from lodestar.fitting.response.response import fit_response
from lodestar.forecaster import Forecaster, Ranges, ReferenceRuns
from lodestar.runs import Direction, Run, Series
from lodestar.schedules import FAMILIES, Schedule
from lodestar.testing import random_forecaster

TOTAL = 400


def drawn(seed: int, total: int = TOTAL) -> Schedule:
    """A schedule that nobody else has."""
    rng = np.random.default_rng([seed, 7])
    peak, warmup = 10 ** rng.uniform(-3.5, -2.0), rng.uniform(0, 0.2)
    plateau = rng.uniform(0, 0.9 * (1 - warmup))
    return FAMILIES["trapezoid"](peak, total, warmup=warmup, plateau=plateau, power=rng.uniform(0.5, 2))


def expected_loss(rates: np.ndarray) -> np.ndarray:
    """The loss after each step, without luck."""
    done = np.cumsum(rates) / len(rates) * 1e3
    recent = np.array([np.mean(rates[max(0, i - len(rates) // 20) : i + 1]) for i in range(len(rates))])
    return 0.3 + 2.0 / (1.0 + done) ** 0.6 + 60.0 * recent


def run_of(
    schedule: Schedule, seed: int, *, luck: float = 0.01, direction: Direction = Direction.MAX, name: str | None = None
) -> Run:
    """A run of that schedule: a few per cent of luck that stays, a little noise at each point."""
    rng = np.random.default_rng([seed, 11])
    total = len(schedule)
    log = np.arange(4, total + 1, 4)
    check = np.arange(20, total + 1, 20)
    loss = expected_loss(schedule.rates) * np.exp(luck * rng.normal())
    noise = np.exp(0.01 * rng.normal(size=total))
    metric = np.exp(-0.5 * loss) if direction is Direction.MAX else 1.1 * loss
    return Run(
        name or f"run-{seed}",
        loss=Series(log, (loss * noise)[log - 1]),
        metric=Series(check, metric[check - 1]),
        lr=Series(log, schedule.rates[log - 1]),
        direction=direction,
        total_steps=total,
        metric_name="accuracy" if direction is Direction.MAX else "val_loss",
    )


def runs(count: int, start: int = 0, **options) -> list[Run]:
    """So many runs of different schedules."""
    return [run_of(drawn(seed), seed, **options) for seed in range(start, start + count)]


@functools.cache
def responding_forecaster(count: int = 24, direction: Direction = Direction.MAX) -> Forecaster:
    """A forecaster whose response was really fitted to such runs; its latent ODE has random weights."""
    return fitted_once(Path(__file__), f"{count} {direction}", lambda: _responding(count, direction))


def _responding(count: int, direction: Direction) -> Forecaster:
    data = prepare(runs(count, direction=direction))
    found = fit_response(data, seed=0)
    assert found is not None
    order = np.argsort(-data.final_metric() if direction is Direction.MAX else data.final_metric())[:8]
    peaks = [float(run.peak_lr) for run in runs(count)]
    return dataclasses.replace(
        random_forecaster(seed=0, points=data.recipe.points, direction=direction),
        recipe=data.recipe,
        references=ReferenceRuns(
            tuple(data.names[i] for i in order), data.values[order], data.mask[order], data.final_metric()[order]
        ),
        ranges=Ranges(
            np.full((data.recipe.points, 3), -5.0), np.full((data.recipe.points, 3), 5.0), min(peaks) / 1e3, max(peaks)
        ),
        facts={"metric_name": data.metric_name, "peak_lr": [min(peaks), max(peaks)], "runs": count},
        quality=found[1],
        response=found[0],
    )
