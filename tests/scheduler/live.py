"""Live runs for tests of the scheduler: what a forecaster might see, on the grid or as a stream of observations."""

import numpy as np

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.scheduler import Scheduler


def points_near(forecaster: Forecaster, seed: int, noise: float = 0.02) -> Points:
    """A whole run on the grid that looks like one the forecaster could draw, with noise."""
    rng = np.random.default_rng(seed)
    latent = forecaster.encode(forecaster.references.context(seed % len(forecaster.references), 0, forecaster.points))
    drawn = forecaster.decode(latent)
    values = np.stack([drawn.loss[0, 0], drawn.metric[0, 0], drawn.lr[0, 0]], axis=-1)
    values[:, :2] *= 1 + noise * rng.standard_normal(values[:, :2].shape)
    mask = np.ones_like(values, dtype=bool)
    mask[:, 0] = rng.random(len(mask)) < 0.9
    mask[:, 1] = rng.random(len(mask)) < 0.4
    return Points(values, mask)


def loss_at(step: int, total: int, seed: int = 0) -> float:
    """A loss that falls, with noise that depends on the step alone."""
    return 1.9 - 0.6 * step / total + 0.03 * float(np.random.default_rng([seed, step]).standard_normal())


def metric_at(step: int, total: int) -> float:
    """A metric that rises."""
    return 0.2 + 0.4 * step / total


def train(scheduler: Scheduler, start: int, stop: int, every: int = 10) -> list[float]:
    """Steps start..stop of a job: ask for the rate, then report; the rates used."""
    rates = []
    total = scheduler.total_steps
    for step in range(start, stop + 1):
        rates.append(scheduler.lr_at(step))
        scheduler.observe(step, loss=loss_at(step, total))
        if step % every == 0:
            scheduler.observe(step, metric=metric_at(step, total))
    return rates
