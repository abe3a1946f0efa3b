"""What a simple forecaster is: it may look at past runs, then continues the observed part of a new one.

Comes in: the recipe (grid, units) and the past runs; then the beginning of a run. Goes out: the whole run in the user's
units; what was seen is returned as it was seen. NaN for a channel it can say nothing about.
"""

import abc
import dataclasses
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lodestar.fitting.dataset import Prepared
from lodestar.forecaster.forecast import Context
from lodestar.forecaster.preprocessing.recipe import Recipe


@dataclasses.dataclass(frozen=True)
class AbstractSimple(abc.ABC):
    """A forecaster without a model."""

    name: ClassVar[str]
    needs_past: ClassVar[bool] = False
    recipe: Recipe

    @classmethod
    def fit(cls, recipe: Recipe, past: Prepared | None, hidden: frozenset[str] = frozenset()) -> Self:
        """Learn from past runs prepared by the same recipe, but for those `hidden`; `None`: there are none."""
        return cls(recipe)

    @abc.abstractmethod
    def forecast(self, context: Context) -> NDArray[np.float64]:
        """The whole run (points, 3), user's units, from a context that begins at its first point."""


def with_seen(ahead: NDArray[np.float64], context: Context, recipe: Recipe) -> NDArray[np.float64]:
    """`ahead` (points, 3) with the observed points of the context put in as they were; user's units."""
    out = ahead.copy()
    part = out[context.start : context.stop]
    out[context.start : context.stop] = np.where(context.mask, recipe.normaliser.inverse(context.values), part)
    return out


def last_seen(context: Context) -> NDArray[np.float64]:
    """The last observed value of each channel (3,), model units; NaN where none was observed."""
    length = len(context.values)
    last = length - 1 - np.argmax(context.mask[::-1], axis=0)
    return np.where(context.mask.any(axis=0), context.values[last, np.arange(3)], np.nan)
