"""Power law: loss and metric follow a + b t^-c, fitted to what was seen by least squares; the learning rate is held.

The usual learning-curve law. For a given exponent c the best a and b are a linear fit, so only c is searched: first on
a grid, then by SciPy. A loss that was never negative keeps a floor a >= 0. With fewer than four points seen, or points
that all agree, the last value is held. User's units.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from lodestar.evaluate.simple.interface import AbstractSimple, last_seen, with_seen
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.preprocessing.normaliser import LOSS, METRIC

_EXPONENTS = np.geomspace(0.05, 3.0, 25)
_LEAST_POINTS = 4


class PowerLaw(AbstractSimple):
    """Fits a + b t^-c to the seen loss and metric."""

    name: ClassVar[str] = "power law"

    def forecast(self, context: Context) -> NDArray[np.float64]:
        """The law's continuation of loss and metric, the last learning rate."""
        points = self.recipe.points
        out = np.tile(self.recipe.normaliser.inverse(last_seen(context)), (points, 1))
        times = np.arange(1, points + 1) / points
        seen = self.recipe.normaliser.inverse(context.values)
        for channel in (LOSS, METRIC):
            fine = context.mask[:, channel]
            t, y = times[context.start : context.stop][fine], seen[fine, channel]
            if len(t) >= _LEAST_POINTS and np.ptp(y) > 0:
                a, b, c = fit_law(t, y, floored=channel == LOSS and y.min() >= 0)
                out[:, channel] = a + b * times**-c
        return with_seen(out, context, self.recipe)


def fit_law(t: NDArray[np.float64], y: NDArray[np.float64], *, floored: bool) -> tuple[float, float, float]:
    """The a, b and c of least squared error; `floored`: with a >= 0."""
    errors = [_linear(t, y, c, floored)[2] for c in _EXPONENTS]
    best = int(np.argmin(errors))
    low, high = _EXPONENTS[max(best - 1, 0)], _EXPONENTS[min(best + 1, len(_EXPONENTS) - 1)]
    found = minimize_scalar(lambda c: _linear(t, y, c, floored)[2], bounds=(low, high), method="bounded")
    c = float(found.x) if found.fun < errors[best] else float(_EXPONENTS[best])  # pyright: ignore[reportAttributeAccessIssue]
    a, b, _ = _linear(t, y, c, floored)
    return a, b, c


def _linear(t: NDArray, y: NDArray, c: float, floored: bool) -> tuple[float, float, float]:
    x = t**-c
    dx, dy = x - x.mean(), y - y.mean()
    b = float(dx @ dy / (dx @ dx))
    a = float(y.mean() - b * x.mean())
    if floored and a < 0:
        a, b = 0.0, float(x @ y / (x @ x))
    return a, b, float(np.sum((a + b * x - y) ** 2))
