"""Small runs for tests: curves that follow a schedule the way training does, without training anything."""

import numpy as np

from lodestar.runs import Direction, Facts, Run, RunSet, Series, Status

SHAPES = ("constant", "cosine", "onecycle", "step")


def schedule(shape: str, peak: float, steps: np.ndarray, total: int) -> np.ndarray:
    t = steps / total
    if shape == "constant":
        return np.full(len(t), peak)
    if shape == "cosine":
        return peak * 0.5 * (1 + np.cos(np.pi * t))
    if shape == "step":
        return peak * 0.5 ** np.minimum(np.floor(3 * t), 2)
    return peak * np.where(t < 0.3, 0.04 + 0.96 * t / 0.3, 0.5 * (1 + np.cos(np.pi * (t - 0.3) / 0.7)))


def toy_run(
    name: str,
    shape: str = "cosine",
    peak: float = 3e-3,
    seed: int = 0,
    total: int = 600,
    every: int = 10,
    metric_every: int = 10,
    direction: Direction = Direction.MAX,
) -> Run:
    """Loss falls with the learning done so far, is held up by the current rate, and is a little noisy."""
    rng = np.random.default_rng([seed, SHAPES.index(shape), int(1e6 * peak)])
    every_step = np.arange(1, total + 1)
    lr = schedule(shape, peak, every_step, total)
    done = np.cumsum(lr / (lr + 1e-3)) / total
    loss = 0.4 + 2.0 * np.exp(-3 * done) + 20 * lr
    log = np.arange(every, total + 1, every)
    check = np.arange(metric_every, total + 1, metric_every)
    noisy = loss[log - 1] * np.exp(0.02 * rng.normal(size=len(log)))
    metric = np.exp(-0.7 * loss[check - 1]) + 0.004 * rng.normal(size=len(check))
    if direction is Direction.MIN:
        metric = 1.0 - metric
    return Run(
        name=name,
        loss=Series(log, noisy),
        metric=Series(check, metric),
        lr=Series(log, lr[log - 1]),
        direction=direction,
        metric_name="accuracy" if direction is Direction.MAX else "error",
        facts=Facts(task="toy", schedule=shape, peak_lr=peak, seed=seed),
    )


def toy_runs(
    seeds: int = 2, rates: tuple[float, ...] = (1e-3, 3e-3), direction: Direction = Direction.MAX, **kwargs: int
) -> RunSet:
    """Every shape at every rate with every seed."""
    return RunSet(
        toy_run(f"{shape}-{rate:g}-{seed}", shape, rate, seed, direction=direction, **kwargs)
        for shape in SHAPES
        for rate in rates
        for seed in range(seeds)
    )


def diverged_run(name: str = "boom", total: int = 600) -> Run:
    """A run whose loss turns NaN half way."""
    run = toy_run(name, "constant", 0.1, total=total)
    values = run.loss.values.copy()
    values[len(values) // 2 :] = np.nan
    return run.replace(loss=Series(run.loss.steps, values), status=Status.DIVERGED)
