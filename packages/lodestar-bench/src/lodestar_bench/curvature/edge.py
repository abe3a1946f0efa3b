"""One end of a spectrum as it was found: the value, and how sure one may be of it. Plain data.

Comes in: an estimate lambda with a unit vector v, and |Hv - lambda v|. Goes out: an `Edge`. For a symmetric matrix one
true eigenvalue lies within that residual of lambda, and in practice far nearer (its square over the gap to the next).
"""

import dataclasses

import numpy as np

TOLERANCE = 1e-2
"""A residual of this share of the eigenvalue is good enough by default: the value itself is then right to 3 digits."""


@dataclasses.dataclass(frozen=True)
class Edge:
    """An eigenvalue at an end of the spectrum; `residual` is |Hv - value v| for the unit vector it was found with."""

    value: float
    residual: float
    converged: bool


def good_enough(value: float, residual: float, radius: float, *, tolerance: float, precision: float) -> bool:
    """Whether the residual is a small share of the value, or no more than rounding leaves (`radius`: largest |Hv|)."""
    return residual <= max(tolerance * abs(value), 100 * precision * radius)


def check(iterations: int, tolerance: float) -> None:
    """Refuse limits that make no sense."""
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1, got {iterations}. Fix: leave it out")
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ValueError(f"tolerance must be a finite number above 0, got {tolerance}. Fix: leave it at {TOLERANCE}")
