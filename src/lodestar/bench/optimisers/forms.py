"""The forms an optimiser may have in a run that a schedule is named for: the recipe's own, or with averaged weights.

Comes in: a form's name and a recipe. Goes out: an `Optimiser`. `space` is which quasi-random schedules suit the form:
where weights are averaged, a rate need not fall.
"""

from collections.abc import Callable

from lodestar.bench.method import Optimiser
from lodestar.bench.optimisers.averaged import averaged
from lodestar.bench.optimisers.plain import plain
from lodestar.bench.problem import Recipe
from lodestar.sweep.spaces import QuasiRandom, Range, for_averaged_weights

FORMS: dict[str, Callable[[Recipe], Optimiser]] = {"recipe": plain, "averaged": averaged}


def optimiser(form: str, recipe: Recipe) -> Optimiser:
    """The recipe's optimiser in a form."""
    return FORMS[form](recipe)


def space(form: str, recipe: Recipe) -> QuasiRandom:
    """Quasi-random schedules within the recipe's own span of peak rates."""
    plain_space = QuasiRandom(peak=Range(min(recipe.rates), max(recipe.rates), log=True))
    return for_averaged_weights(plain_space) if form == "averaged" else plain_space
