"""Both ends of the spectrum by Lanczos: the second opinion on power iteration, and quicker where eigenvalues crowd.

Comes in: an `Operator`. Goes out: the largest and the lowest eigenvalue as `Edge`s, and how many products it took. Each
new direction is made orthogonal to all before it, twice (without that, copies of found eigenvalues appear), so that as
many vectors as there are iterations are kept in memory: 4 bytes x parameters x iterations for a float32 loss.

Not `scipy.sparse.linalg.eigsh`: it hands out no residual, nothing before it has converged (a measurement with so many
products is wanted, converged or not, with its residual), restarts instead of stopping at a first exact answer, and
refuses matrices of one row.
"""

import numpy as np
from scipy.linalg import eigh_tridiagonal

from lodestar_bench.curvature.edge import TOLERANCE, Edge, check, good_enough
from lodestar_bench.curvature.operator import Operator


def lanczos(
    operator: Operator, *, seed: int, iterations: int = 64, tolerance: float = TOLERANCE
) -> tuple[Edge, Edge, int]:
    """Largest and lowest eigenvalue, and the number of products.

    It stops when the largest is known to `tolerance` of itself and the lowest to `tolerance` of the widest: near zero
    the lowest of a trained network lies in a crowd, and a share of itself would be asking for its noise.
    """
    check(iterations, tolerance)
    limit = min(iterations, operator.size)
    basis = np.empty((limit, operator.size), np.float32 if operator.precision > 1e-10 else np.float64)
    vector = np.random.default_rng(seed).standard_normal(operator.size)
    vector /= np.linalg.norm(vector)
    diagonal, beside = [], []
    for made in range(1, limit + 1):
        basis[made - 1] = vector
        image = operator(vector)
        diagonal.append(float(vector @ image))
        rest = _without(basis[:made], _without(basis[:made], image))
        length = float(np.linalg.norm(rest))
        largest, lowest, done = _ends(diagonal, beside, length, tolerance, operator.precision)
        if done or made == limit:
            return largest, lowest, made
        beside.append(length)
        vector = rest / length
    raise AssertionError("iterations is at least 1")


def _without(basis: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """What of a vector is orthogonal to the directions so far."""
    short = vector.astype(basis.dtype)
    return vector - basis.T @ (basis @ short)


def _ends(
    diagonal: list[float], beside: list[float], length: float, tolerance: float, precision: float
) -> tuple[Edge, Edge, bool]:
    """The ends of the small tridiagonal matrix; the residual of each is `length` x the last entry of its vector."""
    values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside))
    radius = float(np.abs(values).max())
    if length <= 100 * precision * radius:
        length = 0.0  # nothing new is left: the directions so far hold every eigenvalue that the start has a part in
    residuals = np.abs(length * vectors[-1])
    known = [
        good_enough(float(values[-1]), float(residuals[-1]), radius, tolerance=tolerance, precision=precision),
        good_enough(radius, float(residuals[0]), radius, tolerance=tolerance, precision=precision),
    ]
    largest = Edge(float(values[-1]), float(residuals[-1]), known[0])
    lowest = Edge(float(values[0]), float(residuals[0]), known[1])
    return largest, lowest, length == 0.0 or all(known)
