"""Runs of several widths, batches and lengths, whose best rate moves by a power that is known, as does their level."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tests.fitted_once import fitted_once
from tests.responding import TOTAL, drawn, expected_loss

from lodestar.fitting.dataset import prepare
from lodestar.fitting.response.response import fit_response
from lodestar.fitting.scale_law import one_scale
from lodestar.forecaster import Forecaster, Ranges, ReferenceRuns
from lodestar.runs import Direction, Facts, Run, Series
from lodestar.schedules import Schedule
from lodestar.testing import random_forecaster

EXPONENT = 0.6  # of the width: the best rate goes as width^-EXPONENT
GAIN = 0.1  # of the width, in the distance that the loss comes down from where it begins
WIDTHS = (16.0, 32.0, 64.0)
REFERENCE = 32.0
BATCH = 64
START = 2.3  # the loss of a network that has learned nothing


def sized_loss(rates: np.ndarray, width: float, exponent: float = EXPONENT) -> np.ndarray:
    """The loss of a job so wide, without luck: a wide one feels a rate more, and comes further down."""
    felt = np.asarray(rates) * (width / REFERENCE) ** exponent
    spoilt = 2.4e4 * np.cumsum(felt**2) / len(felt)  # what a rate that is too high costs for good
    return np.exp(np.log(START) - (width / REFERENCE) ** GAIN * (np.log(START) - np.log(expected_loss(felt) + spoilt)))


def sized_run(
    schedule: Schedule,
    width: float,
    seed: int,
    *,
    exponent: float = EXPONENT,
    facts: dict | None = None,
    name: str | None = None,
) -> Run:
    """A run of that width; `facts`: what it states of itself, its width and batch if nothing else is said."""
    rng = np.random.default_rng([seed, 13])
    total = len(schedule)
    log, check = np.arange(4, total + 1, 4), np.arange(20, total + 1, 20)
    loss = sized_loss(schedule.rates, width, exponent) * np.exp(0.01 * rng.normal())
    noise = np.exp(0.01 * rng.normal(size=total))
    metric = np.exp(-0.5 * loss)
    stated = {"width": width, "batch_size": BATCH} if facts is None else facts
    return Run(
        name or f"width-{width:g}-{seed}",
        loss=Series(log, (loss * noise)[log - 1]),
        metric=Series(check, metric[check - 1]),
        lr=Series(log, schedule.rates[log - 1]),
        direction=Direction.MAX,
        total_steps=total,
        metric_name="accuracy",
        facts=Facts(extra=stated),
    )


def sized_runs(widths: Sequence[float] = WIDTHS, each: int = 20, **options) -> list[Run]:
    """A sweep: schedules of its own at each width."""
    return [
        sized_run(drawn(1000 * place + seed), width, 1000 * place + seed, **options)
        for place, width in enumerate(widths)
        for seed in range(each)
    ]


@functools.cache
def sized_forecaster(widths: tuple[float, ...] = WIDTHS) -> Forecaster:
    """A forecaster whose law and response were really fitted to such runs; its latent ODE has random weights."""
    return fitted_once(Path(__file__), str(widths), lambda: _sized(widths))


def _sized(widths: tuple[float, ...]) -> Forecaster:
    runs = sized_runs(widths)
    data, law = one_scale(prepare(runs))
    found = fit_response(data, seed=0)
    assert found is not None
    best = np.argsort(-data.final_metric())[:8]
    peaks = [float(run.peak_lr) for run in runs]
    return dataclasses.replace(
        random_forecaster(seed=0, points=data.recipe.points, direction=Direction.MAX),
        recipe=data.recipe,
        references=ReferenceRuns(
            tuple(data.names[i] for i in best), data.values[best], data.mask[best], data.final_metric()[best]
        ),
        ranges=Ranges(
            np.full((data.recipe.points, 3), -9.0), np.full((data.recipe.points, 3), 9.0), min(peaks) / 1e3, max(peaks)
        ),
        facts={"metric_name": data.metric_name, "peak_lr": [min(peaks), max(peaks)], "runs": len(runs)},
        quality=found[1],
        response=found[0],
        law=law,
    )


def best_peak(width: float, shape: Schedule, exponent: float = EXPONENT) -> float:
    """The peak rate at which a schedule of this shape ends lowest, in truth."""
    peaks = np.geomspace(1e-4, 1e-1, 200)
    ends = [sized_loss(shape.rates / shape.peak * peak, width, exponent)[-1] for peak in peaks]
    return float(peaks[int(np.argmin(ends))])


__all__ = ["TOTAL", "best_peak", "sized_forecaster", "sized_loss", "sized_run", "sized_runs"]
