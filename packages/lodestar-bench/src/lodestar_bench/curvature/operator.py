"""A symmetric matrix that is known only by its products with vectors: what power iteration and Lanczos work on.

Comes in: a size and a function. Goes out: products, checked. A Hessian of a million weights is such a matrix; so is a
small one in an array, for tests. What the matrix is the Hessian of is not known here. SciPy's `LinearOperator` would
carry neither the rounding of a product, which says when an answer is good enough, nor its check.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.floating]


@dataclasses.dataclass(frozen=True)
class Operator:
    """`product(v)` gives Hv. `precision` is the rounding of one number in it (1.2e-7 where it is made in float32)."""

    size: int
    product: Callable[[Vector], Vector]
    precision: float = float(np.finfo(np.float64).eps)

    def __post_init__(self):
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got {self.size}: there are no parameters to differentiate by")

    @classmethod
    def of(cls, matrix: ArrayLike) -> "Operator":
        """A matrix in an array; it must be symmetric."""
        array = np.asarray(matrix, dtype=np.float64)
        if array.ndim != 2 or array.shape[0] != array.shape[1] or not np.allclose(array, array.T, equal_nan=True):
            raise ValueError(f"matrix must be square and symmetric, got shape {array.shape}. Fix: (A + A.T) / 2")
        return cls(len(array), lambda vector: array @ vector)

    def __call__(self, vector: Vector) -> Vector:
        """Hv in float64."""
        image = np.asarray(self.product(vector), dtype=np.float64)
        if image.shape != (self.size,):
            raise ValueError(f"a product must have shape ({self.size},) as its vector has, got {image.shape}")
        bad = int(np.count_nonzero(~np.isfinite(image)))
        if bad:
            raise ValueError(
                f"a Hessian-vector product has {bad} of {self.size} numbers that are not finite. The loss has no "
                "second derivative here (a square root or a norm at 0, a 0/0), or it overflows. Fix: add a small "
                "constant under the root, or use float64"
            )
        return image

    def divided(self, divisor: ArrayLike) -> "Operator":
        """D^-1/2 H D^-1/2 for a diagonal D > 0: it has the eigenvalues of D^-1 H, and it is symmetric.

        An infinite entry leaves its parameter out, as one that the optimizer does not move.
        """
        scale = np.asarray(divisor, dtype=np.float64)
        if scale.shape != (self.size,):
            raise ValueError(f"preconditioner must hold {self.size} numbers, one a parameter, got shape {scale.shape}")
        bad = np.flatnonzero(np.isnan(scale) | (scale <= 0))
        if len(bad):
            raise ValueError(
                f"preconditioner must be above 0, got {scale[bad[0]]} for parameter {bad[0]}. Fix: give "
                "what the optimizer divides a gradient by (Adam: sqrt(v) + eps), after its first update"
            )
        root = 1 / np.sqrt(scale)
        return Operator(self.size, lambda vector: root * self(root * vector), self.precision)
