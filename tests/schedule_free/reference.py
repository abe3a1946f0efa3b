"""Schedule-free learning in slow loops: every z is kept, and each average is made anew from all of them."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Step = Callable[[Vector, Vector, float], Vector]


def schedule_free(
    start: Vector, gradient: Callable[[Vector], Vector], step: Step, rates: Sequence[float], interpolation: float = 0.7
) -> list[tuple[Vector, Vector, Vector]]:
    """(y, x, z) after each update. `step` gives the next z from z, the gradient at y, and the rate."""
    trace, fast, y = [], [start], start
    for rate in rates:
        fast.append(step(fast[-1], gradient(y), rate))
        counts = np.arange(1, len(fast))
        x = sum(count * z for count, z in zip(counts, fast[1:], strict=True)) / counts.sum()
        y = (1 - interpolation) * fast[-1] + interpolation * x
        trace.append((y, x, fast[-1]))
    return trace


def sgd(decay: float = 0.0) -> Step:
    """Plain descent; weights decay at z."""
    return lambda z, gradient, rate: z - rate * (gradient + decay * z)


class AdamW:
    """Adam without a first moment; weights decay at z, apart from the gradient."""

    def __init__(self, b2: float, decay: float, eps: float = 1e-8):
        self.b2, self.decay, self.eps = b2, decay, eps
        self.updates, self.square = 0, 0.0

    def __call__(self, z: Vector, gradient: Vector, rate: float) -> Vector:
        self.updates += 1
        self.square = self.b2 * self.square + (1 - self.b2) * gradient**2
        scale = np.sqrt(self.square / (1 - self.b2**self.updates)) + self.eps
        return z - rate * self.decay * z - rate * gradient / scale
