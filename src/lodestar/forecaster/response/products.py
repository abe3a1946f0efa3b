"""Products of matrices that stay in the thread that asks for them.

A job's own work keeps every core busy, and BLAS hands a product of some size to several threads, which then wait for
each other: at a decision that took ten times as long as the product itself. BLAS asks for no help where a product has
few enough multiplications, so a large one is made in blocks of that many.
"""

import numpy as np
from numpy.typing import NDArray

_ALONE = 2**18  # multiplications that OpenBLAS makes in one thread
_COLUMNS = 48  # of a block: about as many as rows and shared entries, so that little is copied twice

Matrix = NDArray[np.float64]


def product(one: Matrix, other: Matrix) -> Matrix:
    """(n, k) times (k, m)."""
    (count, shared), size = one.shape, other.shape[1]
    if count * shared * size <= _ALONE or shared > _ALONE // _COLUMNS:
        return one @ other
    out = np.empty((count, size))
    for first in range(0, size, _COLUMNS):
        part = np.ascontiguousarray(other[:, first : first + _COLUMNS])
        out[:, first : first + _COLUMNS] = _by_rows(one, part, _ALONE // part.size)
    return out


def _by_rows(one: Matrix, other: Matrix, rows: int) -> Matrix:
    count = len(one) - len(one) % rows
    out = np.empty((len(one), other.shape[1]))
    blocks = np.ascontiguousarray(one[:count]).reshape(-1, rows, one.shape[1])
    np.matmul(blocks, other, out=out[:count].reshape(-1, rows, other.shape[1]))
    out[count:] = one[count:] @ other
    return out
