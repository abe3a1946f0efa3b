"""Last value: everything stays as it is now. What any forecaster must beat first."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.simple.interface import AbstractSimple, last_seen, with_seen
from lodestar.forecaster.forecast import Context


class LastValue(AbstractSimple):
    """Holds the last smoothed value of each channel."""

    name: ClassVar[str] = "last value"

    def forecast(self, context: Context) -> NDArray[np.float64]:
        """The last value from here on."""
        held = self.recipe.normaliser.inverse(last_seen(context))
        return with_seen(np.broadcast_to(held, (self.recipe.points, 3)), context, self.recipe)
