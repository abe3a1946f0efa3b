"""Matching rules: of the times at which a candidate's loss matches, the one to go on from. Interchangeable.

"highest-lr" is the paper's: anywhere in the run, the time with the highest learning rate. "nearest": the time nearest
to the present, and only within reach; with a noisy loss the paper's rule picks times far too early and never anneals.
Comes in: matches (members, samples, points). Goes out: the point of each candidate, or -1 where there is none. A new
rule is one function and its line in `RULES`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rule = Callable[[NDArray[np.bool_], NDArray[np.float64], int, int], NDArray[np.int64]]

NONE = -1


def highest_lr(found: NDArray[np.bool_], lr: NDArray[np.float64], now: int, reach: int) -> NDArray[np.int64]:
    """The matching point with the highest learning rate; the earliest of equals."""
    best = np.argmax(np.where(found, lr, -np.inf), axis=-1)
    return np.where(found.any(axis=-1), best, NONE)


def nearest(found: NDArray[np.bool_], lr: NDArray[np.float64], now: int, reach: int) -> NDArray[np.int64]:
    """The matching point nearest to point `now`, at most `reach` points away; the earlier of two as near."""
    away = np.abs(np.arange(found.shape[-1]) - now)
    near = found & (away <= reach)
    best = np.argmin(np.where(near, away, found.shape[-1] + 1), axis=-1)
    return np.where(near.any(axis=-1), best, NONE)


RULES: dict[str, Rule] = {"highest-lr": highest_lr, "nearest": nearest}
