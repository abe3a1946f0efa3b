"""How runs that stood where this one stands went on: kernel regression of the metric's remaining change.

Comes in: where a run stands (loss, metric, how fast they move) and what its schedule will still do. Goes out: the
metric at the end. Where nothing in the past resembles it, the change is nought: the last value. It needs no law, so it
holds where most of what matters is in no log.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.response.history import CELLS, FEATURES, Clock, Rates
from lodestar.forecaster.response.products import product

KNOTS = np.array([0.03, 0.05, 0.1, 0.17, 0.25, 0.37, 0.5, 0.62, 0.75, 0.9, 0.96])  # shares of a run seen
_BACK = (0.8, 0.5)  # how fast it moves: since these shares of what was seen

Stand = NDArray[np.float64]  # (cells, 2): loss and metric at the end of each cell, model units, the last value held


@dataclasses.dataclass(frozen=True)
class Continuation:
    """A regression for each knot, over the runs that were finished."""

    feature_mean: NDArray[np.float64]  # (knots, features)
    feature_std: NDArray[np.float64]
    points: NDArray[np.float64]  # (knots, runs, features), standardised
    weights: NDArray[np.float64]  # (knots, runs)
    scale: NDArray[np.float64]  # (knots,): the typical change
    length: NDArray[np.float64]  # (knots,)
    linear: NDArray[np.float64]  # (knots,)

    def final(
        self, clock: Clock, rates: Rates, stand: Stand, cell: int, here: NDArray, ahead: NDArray
    ) -> NDArray[np.float64]:
        """The final metric for each schedule, model units, `cell` being the last one seen.

        `here` (1, inputs) are the inputs of the response at that cell, the same for all, `ahead` those at the end.
        """
        raw = stand_features(clock, rates, np.broadcast_to(stand, (len(rates), *stand.shape)), cell, here, ahead)
        place = np.interp(np.log((cell + 1) / CELLS), np.log(KNOTS), np.arange(len(KNOTS)))
        left = min(int(place), len(KNOTS) - 2)
        change = (left + 1 - place) * self._change(left, raw) + (place - left) * self._change(left + 1, raw)
        return stand[cell, 1] + change

    def _change(self, knot: int, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        points = (raw - self.feature_mean[knot]) / self.feature_std[knot]
        near = stand_kernel(points, self.points[knot], self.length[knot], self.linear[knot])
        return self.scale[knot] * (near @ self.weights[knot])


def stand_features(
    clock: Clock, rates: Rates, stands: NDArray, cell: int, here: NDArray, ahead: NDArray
) -> NDArray[np.float64]:
    """Where runs (n, cells, 2) stand after `cell`, how they got there, and what their schedules will still do.

    `here` and `ahead` (n or 1, inputs): the inputs of the response (`raw_inputs`) at that cell and at the end.
    """
    now = stands[:, cell]
    earlier = [now - stands[:, max(int(share * (cell + 1)) - 1, 0)] for share in _BACK]
    here = np.broadcast_to(here, ahead.shape)
    left = np.log(np.maximum(rates[:, cell + 1 :].sum(axis=1) / clock.sum, 0.0) + 1e-3)
    columns = [now, *earlier, np.stack([here[:, 0], left, here[:, 2], ahead[:, 4], ahead[:, 6]], axis=1)]
    if ahead.shape[1] > FEATURES:  # the law's level, last
        columns.append(ahead[:, FEATURES:] - here[:, FEATURES:])
    return np.concatenate(columns, axis=1)


def stand_kernel(one: NDArray, other: NDArray, length: float, linear: float) -> NDArray[np.float64]:
    """Similarity of standardised stands."""
    far = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None] - 2.0 * product(one, other.T)
    size = one.shape[1]
    return np.exp(-2.0 * np.maximum(far, 0.0) / (size * length**2)) + linear * product(one, other.T) / size
