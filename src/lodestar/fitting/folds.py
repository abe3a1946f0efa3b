"""Which runs each member of an ensemble learns from, and which it is checked on.

Each member holds a different fold out, so that every run is forecast by someone who never saw it (intervals and quality
figures are honest), and every run teaches most of the members.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Fold:
    """Indices of the runs one member learns from, and of those it is checked on (none where too few)."""

    train: NDArray[np.int64]
    held_out: NDArray[np.int64]


def make_folds(runs: int, members: int, hold_out: float, *, seed: int) -> tuple[Fold, ...]:
    """One fold a member, disjoint held-out parts of about `hold_out` of the runs (smaller where members are many)."""
    if not 0.0 <= hold_out < 0.9:
        raise ValueError(f"hold_out must be in [0, 0.9), got {hold_out}. Fix: 0.15 keeps one run in seven for checking")
    if members < 1:
        raise ValueError(f"members must be at least 1, got {members}")
    order = np.random.default_rng(seed).permutation(runs)
    count = round(hold_out * runs)
    if hold_out > 0 and runs >= 4:
        count = min(max(count, 1), runs // members)
    if count == 0 or runs < 4:
        return tuple(Fold(np.sort(order), np.zeros(0, np.int64)) for _ in range(members))
    folds = []
    for member in range(members):
        held_out = order[member * count : (member + 1) * count]
        folds.append(Fold(np.sort(np.setdiff1d(order, held_out)), np.sort(held_out)))
    return tuple(folds)
