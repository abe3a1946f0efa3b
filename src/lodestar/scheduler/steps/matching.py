"""Matching rules: of the times at which a candidate's loss matches, the one to go on from. Interchangeable.

"highest-lr" is the paper's: anywhere in the run, the time with the highest learning rate. "nearest": the time nearest
to the present, and only within reach; with a noisy loss the paper's rule picks times far too early and never anneals.
Comes in: matches (members, samples, points). Goes out: the point of each candidate, or -1 where there is none. A new
rule is one class that holds its own parameters, and its place in `RULES`.
"""

import dataclasses
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

NONE = -1


class Rule(Protocol):
    """`span` says which points the rule looks at; `pick` gets those only, and answers in them."""

    name: ClassVar[str]

    def span(self, now: int, points: int) -> tuple[int, int]:
        """The points [first, stop) that can be picked after point `now`."""
        ...

    def pick(self, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int) -> NDArray[np.int64]:
        """The point of each candidate; `now` is counted from the span's first point."""
        ...


@dataclasses.dataclass(frozen=True)
class Nearest:
    """Within `reach` points of the present: the matching point nearest to it, the earlier of two as near."""

    name: ClassVar[str] = "nearest"
    reach: int

    def span(self, now: int, points: int) -> tuple[int, int]:
        """So many points either way."""
        return max(0, now - self.reach), min(points, now + self.reach + 1)

    def pick(self, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int) -> NDArray[np.int64]:
        """The nearest among the matches."""
        away = np.abs(np.arange(found.shape[-1]) - now)
        best = np.argmin(np.where(found, away, np.iinfo(np.int64).max), axis=-1)
        return np.where(found.any(axis=-1), best, NONE)


@dataclasses.dataclass(frozen=True)
class HighestLr:
    """Anywhere in the run: the matching point with the highest learning rate, the earliest of equals."""

    name: ClassVar[str] = "highest-lr"

    def span(self, now: int, points: int) -> tuple[int, int]:
        """The whole run."""
        return 0, points

    def pick(self, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int) -> NDArray[np.int64]:
        """The highest rate among the matches."""
        best = np.argmax(np.where(found, lr, -np.inf), axis=-1)
        return np.where(found.any(axis=-1), best, NONE)


RULES: dict[str, type[Nearest] | type[HighestLr]] = {rule.name: rule for rule in (Nearest, HighestLr)}


def match(rule: Rule, found: NDArray[np.bool_], lr: NDArray[np.float64], now: int, first: int) -> NDArray[np.int64]:
    """Apply a rule to matches that start at point `first`; the answer counts from the start of the run."""
    picked = rule.pick(found, lr, now - first)
    return np.where(picked == NONE, NONE, picked + first)
