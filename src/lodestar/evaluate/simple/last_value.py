"""Last value: everything stays as it is now. What any forecaster must beat first."""

import dataclasses
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.simple.interface import AbstractSimple, last_seen, with_seen
from lodestar.fitting.dataset import Prepared
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.preprocessing.recipe import Recipe


@dataclasses.dataclass(frozen=True)
class LastValue(AbstractSimple):
    """Holds the last smoothed value of each channel."""

    name: ClassVar[str] = "last value"
    needs_past: ClassVar[bool] = False
    recipe: Recipe

    @classmethod
    def fit(cls, recipe: Recipe, past: Prepared | None, hidden: frozenset[str] = frozenset()) -> Self:
        """Nothing to learn."""
        return cls(recipe)

    def forecast(self, context: Context) -> NDArray[np.float64]:
        """The last value from here on."""
        held = self.recipe.normaliser.inverse(last_seen(context))
        return with_seen(np.broadcast_to(held, (self.recipe.points, 3)), context, self.recipe)
