"""The moment of a decision: the live run at a window's end, and how near and how far the steps look from there.

Comes in: the live run on the grid, up to point `seen`. Goes out: its current loss, the tolerance around it, and the
settings turned into points of this grid. Pure.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Context, Forecaster
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC
from lodestar.forecaster.preprocessing.recipe import Points
from lodestar.scheduler.settings import Settings
from lodestar.scheduler.steps.accept import ACCEPTANCE, tolerance_of
from lodestar.scheduler.steps.encode import live_context
from lodestar.scheduler.steps.matching import Rule


@dataclasses.dataclass(frozen=True)
class Moment:
    """After `seen` points: what is known of the live run."""

    forecaster: Forecaster
    settings: Settings
    points: Points
    seen: int
    loss: float  # the last one of the window
    tolerance: float  # how near to it a candidate's loss must come
    rule: Rule

    @classmethod
    def of(cls, forecaster: Forecaster, settings: Settings, points: Points, seen: int) -> "Moment | None":
        """The moment after `seen` points, None if the last window has no loss."""
        window = slice(max(0, seen - settings.window_points(forecaster.points)), seen)
        losses = points.values[window, LOSS][points.mask[window, LOSS]]
        if len(losses) == 0:
            return None
        scale = forecaster.recipe.normaliser.loss
        wide = (settings.tolerance, settings.least_tolerance, scale, settings.tolerance_points)
        tolerance = tolerance_of(losses, *wide)
        return cls(forecaster, settings, points, seen, float(losses[-1]), tolerance, settings.rule(forecaster.points))

    @property
    def metric(self) -> float:
        """The latest metric, NaN if there is none yet."""
        known = np.flatnonzero(self.points.mask[: self.seen, METRIC])
        return float(self.points.values[known[-1], METRIC]) if len(known) else math.nan

    @property
    def context(self) -> Context:
        """What is encoded: the last window, or all that was seen."""
        window = self.settings.window_points(self.forecaster.points)
        start = 0 if self.settings.context == "all" else max(0, self.seen - window)
        return live_context(self.forecaster, self.points, start, self.seen)

    def matches(self, predicted: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Step 3: where predicted losses come near the live one."""
        return ACCEPTANCE[self.settings.acceptance](predicted, self.loss, self.tolerance)

    @property
    def horizon(self) -> int:
        """How many points after its match a candidate's metric is read."""
        return self.settings.horizon_points(self.forecaster.points, self.seen)
