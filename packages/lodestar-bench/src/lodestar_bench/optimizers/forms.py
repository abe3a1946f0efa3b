"""The forms an optimizer may have in a run that a schedule is named for: the recipe's own, or with averaged weights.

Comes in: a form's name and a recipe. Goes out: an `Optimizer`. `space` is which quasi-random schedules suit the form:
where weights are averaged, a rate need not fall.
"""

from collections.abc import Callable

from lodestar.sweep.spaces import QuasiRandom, Range, for_averaged_weights
from lodestar_bench.method import Optimizer
from lodestar_bench.optimizers.averaged import averaged
from lodestar_bench.optimizers.plain import plain
from lodestar_bench.problem import TrainingRecipe


def own(recipe: TrainingRecipe) -> Optimizer:
    """The recipe as it says: with averaged weights, or plain."""
    return averaged(recipe) if recipe.averaged else plain(recipe)


FORMS: dict[str, Callable[[TrainingRecipe], Optimizer]] = {"recipe": own, "averaged": averaged}


def optimizer(form: str, recipe: TrainingRecipe) -> Optimizer:
    """The recipe's optimizer in a form."""
    return FORMS[form](recipe)


def space(form: str, recipe: TrainingRecipe) -> QuasiRandom:
    """Quasi-random schedules within the recipe's own span of peak rates."""
    plain_space = QuasiRandom(peak=Range(min(recipe.rates), max(recipe.rates), log=True))
    return for_averaged_weights(plain_space) if form == "averaged" or recipe.averaged else plain_space
