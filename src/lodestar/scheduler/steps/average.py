"""Step 5, average: the learning rate of the best candidates, from their matched times on, point by point.

Comes in: the winners' curves (winners, points) and their matched points. Goes out: one curve from the present to the
end of the run. Node 0 is the matched time itself, which is now; past the end is read as in `score`.
The arithmetic mean is the paper's; "log" averages on the scale the forecaster models the learning rate on.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.normaliser import Channel
from lodestar.scheduler.steps.score import past_end

Mean = Callable[[NDArray[np.float64], Channel], NDArray[np.float64]]


def ahead(curves: NDArray[np.float64], matched: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
    """The winners' curves (winners, points) from their matches (winners,) on: (winners, nodes)."""
    at = past_end(matched[:, None] + np.arange(nodes), curves.shape[-1])
    return np.take_along_axis(curves, at, axis=-1)


def arithmetic(curves: NDArray[np.float64], scale: Channel) -> NDArray[np.float64]:
    """The plain mean over winners."""
    return curves.mean(axis=0)


def log(curves: NDArray[np.float64], scale: Channel) -> NDArray[np.float64]:
    """The mean over winners in model units: geometric, with the forecaster's floor for rates near zero."""
    return scale.inverse(scale.forward(curves).mean(axis=0))


MEANS: dict[str, Mean] = {"log": log, "arithmetic": arithmetic}
