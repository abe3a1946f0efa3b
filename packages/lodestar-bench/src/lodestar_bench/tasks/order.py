"""Which rows an update learns from: epochs shuffled by a seed, any update by its number.

Comes in: sizes, a seed, numbers of updates. Goes out: row numbers. A pure function, so that a run can be taken up
anywhere. Knows nothing of what the rows hold.
"""

import functools

import numpy as np
from numpy.typing import NDArray


def rows(total: int, batch_size: int, seed: int, first: int, count: int) -> NDArray[np.int64]:
    """Row numbers of the updates `first` to `first + count - 1` (from 1), shape (count, batch_size)."""
    whole = total // batch_size
    if whole == 0:
        raise ValueError(f"batch_size must be at most the {total} rows there are, got {batch_size}")
    numbers = np.arange(first - 1, first - 1 + count)
    epochs, places = numbers // whole, numbers % whole
    picked = [
        _shuffled(total, seed, int(epoch))[place * batch_size : (place + 1) * batch_size]
        for epoch, place in zip(epochs, places, strict=True)
    ]
    return np.stack(picked)


@functools.lru_cache(maxsize=4)
def _shuffled(total: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, epoch]).permutation(total)
