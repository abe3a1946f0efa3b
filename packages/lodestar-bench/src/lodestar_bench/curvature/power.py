"""The largest eigenvalue by power iteration: v <- Hv / |Hv|, lambda = v.Hv.

Comes in: an `Operator`. Goes out: an `Edge`, and how many products it took. By itself the iteration finds the
eigenvalue that is largest in *absolute* value. Where that one is negative, or a negative one of about the same size
keeps it from settling, it is run again on H + |Hv| I, which moves the spectrum above zero and keeps its order: what
goes out is the largest, sign included. Never says "converged" because the value has stopped moving: only the residual
counts.
"""

import dataclasses

import numpy as np

from lodestar_bench.curvature.edge import TOLERANCE, Edge, check, good_enough
from lodestar_bench.curvature.operator import Operator, Vector


@dataclasses.dataclass(frozen=True)
class Climb:
    """Where one iteration ended: `rest` is Hv - lambda v, `radius` the largest |Hv| of all."""

    edge: Edge
    products: int
    rest: Vector
    radius: float


def power(operator: Operator, *, seed: int, iterations: int = 200, tolerance: float = TOLERANCE) -> tuple[Edge, int]:
    """The largest eigenvalue, and the number of products made: at most twice `iterations`, and one."""
    check(iterations, tolerance)
    rng = np.random.default_rng(seed)
    first = _climb(operator, _unit(rng, operator.size), 0.0, iterations, tolerance)
    hidden, asked = _hidden(operator, first)
    if not hidden:
        return first.edge, first.products + asked
    second = _climb(operator, _unit(rng, operator.size), first.radius, iterations, tolerance)
    return second.edge, first.products + asked + second.products


def _hidden(operator: Operator, climb: Climb) -> tuple[bool, int]:
    """Whether a negative eigenvalue hides the largest, and the products it took to say so.

    What still keeps a vector from settling is the rest r: where it is a negative direction, r.Hr < 0.
    """
    if climb.edge.value < 0 or climb.edge.converged:
        return climb.edge.value < 0, 0
    return float(climb.rest @ operator(climb.rest)) < 0, 1


def _climb(operator: Operator, vector: Vector, shift: float, iterations: int, tolerance: float) -> Climb:
    """Power iteration on H + shift I; value and residual are those of H."""
    radius = shift
    for made in range(1, iterations + 1):
        image = operator(vector)
        value, radius = float(vector @ image), max(radius, float(np.linalg.norm(image)))
        rest = image - value * vector
        residual = float(np.linalg.norm(rest))
        converged = good_enough(value, residual, radius, tolerance=tolerance, precision=operator.precision)
        if converged or made == iterations:
            return Climb(Edge(value, residual, converged), made, rest, radius)
        vector = image + shift * vector
        vector /= np.linalg.norm(vector)
    raise AssertionError("iterations is at least 1")


def _unit(rng: np.random.Generator, size: int) -> Vector:
    vector = rng.standard_normal(size)
    return vector / np.linalg.norm(vector)
