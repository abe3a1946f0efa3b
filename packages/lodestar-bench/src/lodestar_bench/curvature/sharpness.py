"""Sharpness: what a measurement of the largest Hessian eigenvalue came to, the same for JAX, torch and plain matrices.

Comes in: an `Operator` and the loss it is the Hessian of. Goes out: a `Sharpness`. Which framework made the products is
not known here.
"""

import dataclasses
import math
from typing import Literal, get_args

from lodestar_bench.curvature.edge import TOLERANCE, Edge
from lodestar_bench.curvature.lanczos import lanczos
from lodestar_bench.curvature.operator import Operator
from lodestar_bench.curvature.power import power

Method = Literal["power", "lanczos"]


@dataclasses.dataclass(frozen=True)
class Sharpness:
    """The largest eigenvalue of a Hessian, and how it was found.

    One true eigenvalue lies within `residual` of `value`. `products` counts Hessian-vector products. `lowest` is the
    other end of the spectrum, which only Lanczos knows; below zero, the loss still curves down somewhere.
    `preconditioned`: of D^-1 H, where D is what the optimizer divides the gradient by, instead of H.
    """

    value: float
    residual: float
    converged: bool
    products: int
    method: Method
    parameters: int
    loss: float
    lowest: Edge | None = None
    preconditioned: bool = False

    def stability(self, lr: float) -> float:
        """lr x sharpness / 2: plain gradient descent on a quadratic is stable below 1 (others: `stability.py`)."""
        return lr * self.value / 2

    def __str__(self) -> str:
        what = "preconditioned sharpness" if self.preconditioned else "sharpness"
        state = "" if self.converged else ", NOT converged: raise iterations, or try the other method"
        lowest = "" if self.lowest is None else f", lowest eigenvalue {self.lowest.value:.4g}"
        return (
            f"{what} {self.value:.4g} (residual {self.residual:.1e}, {self.products} products by {self.method}{state})"
            f"{lowest}, loss {self.loss:.4g}, {self.parameters:,} parameters"
        )


def measure(
    operator: Operator,
    *,
    seed: int,
    loss: float = math.nan,
    method: Method = "power",
    iterations: int | None = None,
    tolerance: float = TOLERANCE,
    preconditioned: bool = False,
) -> Sharpness:
    """Find the largest eigenvalue. `iterations`: 200 for power, 64 for Lanczos. `seed` draws the first vector."""
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    limit = {} if iterations is None else {"iterations": iterations}
    lowest = None
    if method == "power":
        largest, products = power(operator, seed=seed, tolerance=tolerance, **limit)
    else:
        largest, lowest, products = lanczos(operator, seed=seed, tolerance=tolerance, **limit)
    return Sharpness(
        **dataclasses.asdict(largest),
        products=products,
        method=method,
        parameters=operator.size,
        loss=loss,
        lowest=lowest,
        preconditioned=preconditioned,
    )
