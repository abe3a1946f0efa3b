"""Runs made on the spot, by the shape of their schedule. As a fixture: `make_run`."""

from collections.abc import Callable

import numpy as np

from lodestar.runs import Direction, Facts, Run, Series

RunMaker = Callable[..., Run]


def lr_curve(shape: str, points: int, peak: float = 1e-2) -> np.ndarray:
    """Schedules as people write them, at `points` places of a run."""
    t = np.linspace(0, 1, points)
    rise = np.clip(t / 0.3, 0, 1)
    return (
        peak
        * {
            "constant": np.ones(points),
            "cosine": 0.5 * (1 + np.cos(np.pi * t)),
            "linear": 1 - t,
            "step": 0.5 ** np.floor(t * 2.999),
            "onecycle": np.where(
                t < 0.3, 0.04 + 0.96 * rise, 0.5 * (1 + np.cos(np.pi * np.clip((t - 0.3) / 0.7, 0, 1)))
            ),
            "exponential": 0.01**t,
            "inverse-sqrt": np.minimum(t / 0.1, np.sqrt(0.1 / np.maximum(t, 0.1))),
            "linear with warm-up": np.minimum(t / 0.1, (1 - t) / 0.9),
            "cosine with warm-up": np.where(t < 0.1, t / 0.1, 0.5 * (1 + np.cos(np.pi * (t - 0.1) / 0.9))),
            "constant with warm-up": np.minimum(t / 0.1, 1),
            "step with warm-up": np.where(t < 0.1, t / 0.1, 0.1 ** np.floor((t - 0.1) / 0.301)),
            "wsd": np.minimum(np.minimum(t / 0.05, 1), (1 - t) / 0.2),
            "other": 0.5 * (1 + np.cos(6 * np.pi * t)),
        }[shape]
    )


def made_run(
    name: str = "run", *, points: int = 50, shape: str = "cosine", peak: float = 1e-2, **changes: object
) -> Run:
    """A healthy run; `changes` replace its fields."""
    steps = np.arange(1, points + 1) * 10
    loss = 2 / np.sqrt(np.arange(1, points + 1))
    fields = {
        "loss": Series(steps, loss),
        "metric": Series(steps[4::5], 1 - loss[4::5] / 3),
        "lr": Series(steps, lr_curve(shape, points, peak)),
        "direction": Direction.MAX,
        "metric_name": "val_accuracy",
        "facts": Facts(seed=0),
    }
    return Run(name, **(fields | changes))  # pyright: ignore[reportArgumentType]
