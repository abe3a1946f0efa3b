"""The arrays of a forecaster by their axes, each named once.

The type checker and the reader see the axes; a training job sees NumPy alone: `jaxtyping` is not imported there.
`channels` are loss, metric and learning rate, in this order, in model units unless a docstring says otherwise.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Times = Float[np.ndarray, " times"]
    Curve = Float[np.ndarray, " times"]
    PointValues = Float[np.ndarray, "points channels"]
    PointMask = Bool[np.ndarray, "points channels"]
    RunValues = Float[np.ndarray, "runs points channels"]
    RunMask = Bool[np.ndarray, "runs points channels"]
    RunTokens = Float[np.ndarray, "contexts tokens features"]
    ValidTokens = Bool[np.ndarray, "contexts tokens"]
    MemberSpread = Float[np.ndarray, "members latent"]
    MemberFinals = Float[np.ndarray, "members schedules"]
    Latents = Float[np.ndarray, "members samples latent"]
    LatentPaths = Float[np.ndarray, "members samples times latent"]
    Decoded = Float[np.ndarray, "members samples times channels"]
    DecodedCurves = Float[np.ndarray, "members samples times"]
    IntervalTable = Float[np.ndarray, "levels seen targets channels"]
    SpreadTable = Float[np.ndarray, "seen targets channels"]
    FinalTable = Float[np.ndarray, "sides levels seen"]
else:
    Times = Curve = PointValues = RunValues = RunTokens = MemberSpread = MemberFinals = Latents = NDArray[np.float64]
    LatentPaths = Decoded = DecodedCurves = IntervalTable = SpreadTable = FinalTable = NDArray[np.float64]
    PointMask = RunMask = ValidTokens = NDArray[np.bool_]
