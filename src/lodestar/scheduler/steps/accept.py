"""Step 3, accept: which candidates come near the live loss, and when.

Comes in: predicted losses (members, samples, points), the live loss and the tolerance, all in the user's units. Goes
out: True where a predicted loss matches. "two-sided" is the paper's, |predicted - current| < tolerance, strict;
"one-sided" takes whatever is forecast not to be worse, predicted < current + tolerance, as the authors' released code
does. The tolerance is `factor` standard deviations of the losses of the whole window, or of its last few. A new rule is
one function, and its place in `ACCEPTANCE`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.normaliser import Channel

Acceptance = Callable[[NDArray[np.float64], float, float], NDArray[np.bool_]]


def tolerance_of(
    losses: NDArray[np.float64],
    factor: float,
    least: float = 0.0,
    scale: Channel | None = None,
    last: int | None = None,
) -> float:
    """`factor` x std of the window's losses, and not below `least` standard deviations of the training losses there.

    With `last`, of so many losses at the window's end.
    """
    wide = factor * float(np.std(losses if last is None else losses[-last:]))
    if least <= 0.0 or scale is None:
        return wide
    now = losses[-1]
    return max(wide, float(scale.inverse(scale.forward(now) + least) - now))


def two_sided(predicted: NDArray[np.float64], current: float, tolerance: float) -> NDArray[np.bool_]:
    """Where a predicted loss is within the tolerance. A prediction that is not finite never is."""
    with np.errstate(invalid="ignore"):
        return np.abs(predicted - current) < tolerance


def one_sided(predicted: NDArray[np.float64], current: float, tolerance: float) -> NDArray[np.bool_]:
    """Where a predicted loss is below the current one, or above it by less than the tolerance."""
    with np.errstate(invalid="ignore"):
        return (predicted - current < tolerance) & np.isfinite(predicted)


ACCEPTANCE: dict[str, Acceptance] = {"two-sided": two_sided, "one-sided": one_sided}
