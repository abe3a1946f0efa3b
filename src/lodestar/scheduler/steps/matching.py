"""Matching rules: of the times at which a candidate's loss matches, the one to go on from. Interchangeable.

"highest-lr" is the paper's: anywhere in the run, the time with the highest learning rate. "nearest": the time nearest
to the present, and only within reach; with a noisy loss the paper's rule picks times far too early and never anneals.
Comes in: matches (members, samples, points). Goes out: the point of each candidate, or -1 where there is none. A new
rule is one class and its line in `RULES`.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

NONE = -1


class Rule(Protocol):
    """`span` says which points the rule looks at; `pick` gets those only, and answers in them."""

    def span(self, now: int, reach: int, points: int) -> tuple[int, int]:
        """The points [first, stop) that can be picked after point `now`."""
        ...

    def pick(self, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int) -> NDArray[np.int64]:
        """The point of each candidate; `now` is counted from the span's first point."""
        ...


class HighestLr:
    """Anywhere in the run: the matching point with the highest learning rate, the earliest of equals."""

    def span(self, now: int, reach: int, points: int) -> tuple[int, int]:
        """The whole run."""
        return 0, points

    def pick(self, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int) -> NDArray[np.int64]:
        """The highest rate among the matches."""
        best = np.argmax(np.where(found, lr, -np.inf), axis=-1)
        return np.where(found.any(axis=-1), best, NONE)


class Nearest:
    """Within reach of the present: the matching point nearest to it, the earlier of two as near."""

    def span(self, now: int, reach: int, points: int) -> tuple[int, int]:
        """So many points either way."""
        return max(0, now - reach), min(points, now + reach + 1)

    def pick(self, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int) -> NDArray[np.int64]:
        """The nearest among the matches."""
        away = np.abs(np.arange(found.shape[-1]) - now)
        best = np.argmin(np.where(found, away, np.iinfo(np.int64).max), axis=-1)
        return np.where(found.any(axis=-1), best, NONE)


RULES: dict[str, Rule] = {"highest-lr": HighestLr(), "nearest": Nearest()}


def match(rule: str, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int, first: int) -> NDArray[np.int64]:
    """Apply a rule to matches that start at point `first`; the answer counts from the start of the run."""
    picked = RULES[rule].pick(found, lr, now - first)
    return np.where(picked == NONE, NONE, picked + first)
