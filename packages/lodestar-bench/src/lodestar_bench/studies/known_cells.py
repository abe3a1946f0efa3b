"""Cells of the table of known schedules, counted: where a forecast is below every simple one, and where that is luck.

Comes in: for each cell (runs learned from, share seen) the errors of ours and of the simple forecasters on each split's
test runs. Goes out: the best simple one, and whether ours is below it, above it, or level: within what other splits
and other test runs would change.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

OURS = "ours"
BELOW, LEVEL, ABOVE = "below", "level", "above"
HELD = (0.74, 0.88)  # what an 80 % interval may hold of some dozens of runs
_RESAMPLES, _LEVEL = 1000, 0.95

Errors = Mapping[str, NDArray[np.float64]]  # forecaster: (runs,), one split


def rmse(errors: NDArray[np.float64]) -> float:
    """Of one split."""
    return float(np.sqrt(np.mean(errors**2)))


def best_simple(splits: Sequence[Errors]) -> str:
    """The simple forecaster of least RMSE, mean over the splits."""
    names = [name for name in splits[0] if name != OURS]
    return min(names, key=lambda name: float(np.mean([rmse(split[name]) for split in splits])))


def verdict(splits: Sequence[Errors], rival: str, seed: int = 0) -> str:
    """Ours against a rival: splits are drawn anew, and in each its runs, the same for both; 95 % of the differences."""
    rng = np.random.default_rng(seed)
    gaps = np.empty(_RESAMPLES)
    for number in range(_RESAMPLES):
        drawn = [splits[place] for place in rng.integers(len(splits), size=len(splits))]
        gaps[number] = np.mean([_gap(split, rival, rng) for split in drawn])
    low, high = np.quantile(gaps, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return BELOW if high < 0 else ABOVE if low > 0 else LEVEL


def _gap(split: Errors, rival: str, rng: np.random.Generator) -> float:
    runs = rng.integers(len(split[OURS]), size=len(split[OURS]))
    return rmse(split[OURS][runs]) - rmse(split[rival][runs])


def counted(rows: Sequence[Mapping]) -> str:
    """The count over rows that have a simple forecaster, in words."""
    cells = [row for row in rows if row.get("best simple")]
    if not cells:
        return "no cells to count"
    below = sum(row["rmse"] < row["best simple rmse"] for row in cells)
    by = {word: sum(row["verdict"] == word for row in cells) for word in (BELOW, LEVEL, ABOVE)}
    held = np.array([row["held"] for row in rows])
    ratio = np.exp(np.mean([np.log(row["rmse"] / row["best simple rmse"]) for row in cells]))
    inside = int(((held >= HELD[0]) & (held <= HELD[1])).sum())
    return (
        f"RMSE below every simple forecaster's in {below} of {len(cells)} cells; told apart from the best of them by "
        f"more than splits and test runs vary: below in {by[BELOW]}, level in {by[LEVEL]}, above in {by[ABOVE]}; "
        f"{ratio:.2f} of the best one's on average\n"
        f"80 % intervals held {held.mean():.2f} of the runs, and {HELD[0]:.2f} to {HELD[1]:.2f} in {inside} of "
        f"{len(held)} cells"
    )
