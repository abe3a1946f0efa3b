"""Step 3, accept: which candidates come near the live loss, and when.

Comes in: predicted losses (members, samples, points), the live loss and the tolerance, all in the user's units. Goes
out: True where a predicted loss matches. The distance is two-sided and strict, |predicted - current| < tolerance, as in
the paper; the tolerance is `factor` standard deviations of the losses of the whole window.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.normaliser import Channel


def tolerance_of(losses: NDArray[np.float64], factor: float, least: float = 0.0, scale: Channel | None = None) -> float:
    """`factor` x std of the window's losses, and not below `least` standard deviations of the training losses there."""
    wide = factor * float(np.std(losses))
    if least <= 0.0 or scale is None:
        return wide
    now = losses[-1]
    return max(wide, float(scale.inverse(scale.forward(now) + least) - now))


def matches(predicted: NDArray[np.float64], current: float, tolerance: float) -> NDArray[np.bool_]:
    """Where a predicted loss is within the tolerance. A prediction that is not finite never is."""
    with np.errstate(invalid="ignore"):
        return np.abs(predicted - current) < tolerance
