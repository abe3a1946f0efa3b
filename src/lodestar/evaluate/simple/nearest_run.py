"""Nearest past run: find the past run that looked most like this one so far, and expect the same rest.

Nearest: smallest mean squared difference in model units over the points both runs have, all three channels alike. Its
loss and metric may be moved to meet the run's last value; whether that helps at this point of a run is asked of the
past runs themselves, each continued by its nearest other. The learning rate is copied.
"""

import dataclasses
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import PrepareError
from lodestar.evaluate.simple.interface import AbstractSimple, last_seen, with_seen
from lodestar.fitting.dataset import Prepared
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.preprocessing.grid import filled
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.preprocessing.recipe import Recipe

_PROBES = 40  # past runs asked whether the shift helps


@dataclasses.dataclass(frozen=True)
class NearestRun(AbstractSimple):
    """Copies the rest of the nearest past run. `shift`: move it to meet the last value seen; None: if it helps."""

    name: ClassVar[str] = "nearest run"
    needs_past: ClassVar[bool] = True
    past: Prepared
    visible: NDArray[np.bool_]  # which past runs may be looked at
    shift: bool | None = None
    _helps: dict[tuple[int, int], bool] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def fit(cls, recipe: Recipe, past: Prepared | None, hidden: frozenset[str] = frozenset()) -> Self:
        """Remember the past runs."""
        visible = np.array([name not in hidden for name in past.names] if past else [], dtype=bool)
        if past is None or not visible.any():
            raise PrepareError(
                f"the nearest past run has none to choose from: all of the {len(visible)} past runs are under test or "
                "were held out. Fix: pass the runs the fit used (--against), or do without it"
            )
        return cls(recipe, past, visible)

    def forecast(self, context: Context) -> NDArray[np.float64]:
        """The rest of that run."""
        near = self.nearest(context)
        if near is None:
            return np.full((self.recipe.points, 3), np.nan)
        shift = self._shift_helps(context.start, context.stop) if self.shift is None else self.shift
        values = self._continued(context, near, shift)
        return with_seen(self.recipe.normaliser.inverse(values), context, self.recipe)

    def nearest(self, context: Context, but: int | None = None) -> int | None:
        """Which past run looked most like the context, `but` that one; None if none has a point in common."""
        stretch = slice(context.start, context.stop)
        both = self.past.mask[:, stretch] & context.mask
        gap = np.where(both, (self.past.values[:, stretch] - context.values) ** 2, 0.0).sum(axis=(1, 2))
        count = np.where(self.visible, both.sum(axis=(1, 2)), 0)
        far = np.where(count > 0, gap / np.maximum(count, 1), np.inf)
        if but is not None:
            far[but] = np.inf
        best = int(np.argmin(far))
        return best if np.isfinite(far[best]) else None

    def _continued(self, context: Context, run: int, shift: bool) -> NDArray[np.float64]:
        """That past run (points, 3), model units, its gaps drawn through."""
        values = np.stack([filled(self.past.values[run, :, c], self.past.mask[run, :, c]) for c in range(3)], axis=-1)
        if not shift:
            return values
        move = last_seen(context) - values[context.stop - 1]
        move[LR] = 0.0
        return values + np.nan_to_num(move)

    def _shift_helps(self, start: int, stop: int) -> bool:
        """Whether past runs are continued better by their nearest other with a shift than without."""
        if (start, stop) not in self._helps:
            among = np.flatnonzero(self.visible)
            probes = among[np.linspace(0, len(among) - 1, min(_PROBES, len(among))).round().astype(int)]
            off = (
                sum((self._errors(int(run), start, stop) for run in probes), np.zeros(2)) if len(among) > 1 else (0, 0)
            )
            self._helps[start, stop] = bool(off[1] < off[0])
        return self._helps[start, stop]

    def _errors(self, run: int, start: int, stop: int) -> NDArray[np.float64]:
        """Squared error of the rest of a past run, without and with the shift."""
        values, mask = self.past.values[run], self.past.mask[run]
        context = Context(values[start:stop], mask[start:stop], start)
        near = self.nearest(context, but=run)
        if near is None:
            return np.zeros(2)
        made = [self._continued(context, near, shift)[stop:] for shift in (False, True)]
        return np.array([np.nansum(np.where(mask[stop:], (m - values[stop:]) ** 2, 0.0)) for m in made])
