"""Averaged weights: a form of any optimizer in which the rate need not fall for the end to be good.

An update is made from a fast sequence z with the gradient at y; the average x of all z so far, late ones counting more,
is the model; y lies between the two. In symbols, at update t:

    z <- z - step(gradient at y)          the inner optimizer, without momentum: y takes its place
    x <- x + share(t) (z - x)             with POWER 1 the weight of each z grows linearly
    y <- (1 - INTERPOLATION) z + INTERPOLATION x

This is schedule-free learning (Defazio et al. 2024) with less interpolation than its authors' 0.9 and a shorter memory.
Both numbers are Lodestar's own choice, the same for every task; docs/averaging.md says how they were found.
`lodestar.schedule_free.torch` and `lodestar.schedule_free.optax` hold the form for the two. This file needs nothing.
"""

from typing import Any

INTERPOLATION = 0.7
"""How far the place where gradients are taken lies towards the average."""
POWER = 1.0
"""The z of update t counts as t to this power: 0 is the plain mean, large values forget quickly."""


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
