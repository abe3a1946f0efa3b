"""Splits that never change: rows shuffled by a name, not by a run's seed.

Comes in: a number of rows and the split's name. Goes out: row numbers. The validation part is taken from the training
data; the test part is never touched.
"""

import zlib

import numpy as np
from numpy.typing import NDArray


def shuffled(rows: int, name: str) -> NDArray[np.int64]:
    """An order of the rows that depends on the name alone."""
    return np.random.default_rng(zlib.crc32(name.encode())).permutation(rows)


def held_out(rows: int, validation: int, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which rows to learn from and which to validate on."""
    if not 0 < validation < rows:
        raise ValueError(f"validation must leave rows to learn from: got {validation} of {rows}")
    order = shuffled(rows, name)
    return np.sort(order[validation:]), np.sort(order[:validation])
