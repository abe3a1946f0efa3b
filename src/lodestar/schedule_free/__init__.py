"""Schedule-free learning (Defazio et al. 2024): a form of any optimizer in which the rate need not fall at the end.

An update is made from a fast sequence z with the gradient at y; the average x of all z so far, late ones counting more,
is the model; y lies between the two. In symbols, at update t:

    z <- z - step(gradient at y)          the inner optimizer, without momentum: y takes its place
    x <- x + share(t) (z - x)             with POWER 1 the weight of each z grows linearly
    y <- (1 - INTERPOLATION) z + INTERPOLATION x

The authors' numbers are an interpolation of 0.9 and an equal weight for every z. Ours are the same for every task; the
guide to schedule-free averaging says how they were found. In the words of the package `schedulefree`: momentum=0.7,
r=1, weight_lr_power=0. `lodestar.schedule_free.torch` and `.optax` hold the form for the two. This file needs nothing.
"""

from typing import Any

INTERPOLATION = 0.7
"""How far the place where gradients are taken lies towards the average: the package's `momentum`, Optax's `b1`."""
POWER = 1.0
"""The z of update t counts as t to this power, the package's `r`: 0 is the plain mean, large values forget quickly."""


def share(update: Any, power: float = POWER) -> Any:
    """What the newest z counts in the average at an update, counted from 1: 1 at the first, then falling."""
    return (power + 1) / (update + power)


def check(interpolation: float, power: float) -> None:
    """Raise `ValueError` for numbers that make no average."""
    if not 0 <= interpolation < 1:
        raise ValueError(
            f"interpolation must lie in [0, 1): 0 takes gradients at the fast weights, near 1 at the average, got "
            f"{interpolation}. Fix: leave it at {INTERPOLATION}"
        )
    if not 0 <= power < float("inf"):
        raise ValueError(f"power must be a finite number >= 0, got {power}. Fix: leave it at {POWER:g}")
