"""Small runs for tests: curves that follow a schedule the way training does, without training anything."""

import numpy as np

from lodestar.runs import Direction, Facts, Run, Series

SHAPES = ("constant", "cosine", "onecycle", "step")


def toy_run(name: str, shape: str, peak: float, seed: int, *, total: int, every: int, metric_every: int = 10) -> Run:
    """Loss falls with the learning done so far, is held up by the current rate, and is a little noisy."""
    rng = np.random.default_rng([seed, SHAPES.index(shape), int(1e6 * peak)])
    lr = _rates(shape, peak, np.arange(1, total + 1) / total)
    done = np.cumsum(lr / (lr + 1e-3)) / total
    loss = 0.4 + 2.0 * np.exp(-3 * done) + 20 * lr
    log, check = np.arange(every, total + 1, every), np.arange(metric_every, total + 1, metric_every)
    noisy = loss[log - 1] * np.exp(0.02 * rng.normal(size=len(log)))
    metric = np.exp(-0.7 * loss[check - 1]) + 0.004 * rng.normal(size=len(check))
    return Run(
        name=name,
        loss=Series(log, noisy),
        metric=Series(check, metric),
        lr=Series(log, lr[log - 1]),
        direction=Direction.MAX,
        metric_name="accuracy",
        facts=Facts(task="toy", schedule=shape, peak_lr=peak, seed=seed),
    )


def _rates(shape: str, peak: float, t: np.ndarray) -> np.ndarray:
    if shape == "constant":
        return np.full(len(t), peak)
    if shape == "cosine":
        return peak * 0.5 * (1 + np.cos(np.pi * t))
    if shape == "step":
        return peak * 0.5 ** np.minimum(np.floor(3 * t), 2)
    return peak * np.where(t < 0.3, 0.04 + 0.96 * t / 0.3, 0.5 * (1 + np.cos(np.pi * (t - 0.3) / 0.7)))
