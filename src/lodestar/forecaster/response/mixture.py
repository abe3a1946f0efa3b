"""One forecast of the final metric out of several, and how far it can be trusted.

Comes in: the final metric by each way of forecasting. Goes out: their mixture, with an interval. The weights, and how
many of the mixture's own deviations the truth lay off, were measured on held-out runs at each share seen. A way that
does not help on these runs gets no weight.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.intervals import LEVELS
from lodestar.forecaster.response.continuation import KNOTS

WAYS = (
    "schedule",
    "schedule and run so far",
    "runs that stood here",
    "last value",
    "nearest run",
    "runs nearby",
    "power law",
)
SHARES = np.concatenate([[0.0], KNOTS])  # shares of a run seen, at which weights are measured
_MODELLED = 2  # the first ways, which the model's own variance is about


@dataclasses.dataclass(frozen=True)
class Mixture:
    """Weights (shares, ways), each row adding up to one; widths (levels, shares) in the mixture's deviations.

    `latent` (shares,): the share of the forecast that the latent ODE has, where it is asked; the ways have the rest.
    """

    weights: NDArray[np.float64]
    widths: NDArray[np.float64]
    latent: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(len(SHARES)))

    def __post_init__(self):
        if self.latent.shape != (len(SHARES),) or not np.all((self.latent >= 0) & (self.latent <= 1)):
            raise ValueError(f"the latent ODE's shares must be {len(SHARES)} numbers from 0 to 1, got {self.latent}")
        if self.weights.shape != (len(SHARES), len(WAYS)) or self.widths.shape != (len(LEVELS), len(SHARES)):
            raise ValueError(f"a mixture needs other shapes than {self.weights.shape} and {self.widths.shape}")

    def at(self, seen: float) -> NDArray[np.float64]:
        """The weight of each way (ways,) with that share of the run seen."""
        return np.array([np.interp(seen, SHARES, column) for column in self.weights.T])

    def with_latent(
        self, seen: float, centre: NDArray[np.float64], deviation: NDArray[np.float64], latent: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Forecasts and deviations of the ways, with the latent ODE's forecasts in them: doubt grows with the gap."""
        share = float(np.interp(seen, SHARES, self.latent))
        apart = latent - centre
        return centre + share * apart, np.sqrt(deviation**2 + share * (1.0 - share) * apart**2)

    def width(self, seen: float, level: float) -> float:
        """Deviations to either side that hold `level` of such runs."""
        if level not in LEVELS:
            raise ValueError(f"level must be one of {LEVELS}, got {level}")
        return float(np.interp(seen, SHARES, self.widths[LEVELS.index(level)]))


def mixed(
    weights: NDArray[np.float64], ways: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Forecasts (runs,) out of `ways` (ways, runs); their deviations: how far ways disagree, and the model's own."""
    centre = weights @ ways
    share = weights[:_MODELLED].sum() + 0.01
    return centre, np.sqrt(weights @ (ways - centre) ** 2 + share * variance)
