"""Prodigy (Mishchenko and Defazio 2023), from optax.contrib: AdamW whose rate comes from an estimate d of the distance.

Comes in: a recipe. The `rate` of each update is read as Prodigy's multiplier, 1 by its authors' advice, so the schedule
and its grid come in without a new compile; what goes out as the rate in effect is d * multiplier. It is an Adam method:
an SGD recipe gives it its weight decay only.
"""

import functools
from typing import Any

import jax
import optax
from optax import contrib

from lodestar_bench.method import Optimizer, OptimizerState
from lodestar_bench.optimizers.plain import params_as_they_are
from lodestar_bench.problem import Params, TrainingRecipe


@functools.cache
def prodigy(recipe: TrainingRecipe) -> Optimizer:
    """Prodigy with the recipe's betas and weight decay."""

    def form(rate: jax.Array) -> optax.GradientTransformationExtraArgs:
        # Optax calls no schedule here: the rate is an array, and the type only names schedules and floats.
        multiplier: Any = rate
        return contrib.prodigy(multiplier, betas=(recipe.b1, recipe.b2), weight_decay=recipe.weight_decay)

    def init(params: Params, rate: jax.Array) -> OptimizerState:
        return form(rate).init(params)

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        effective = state.estim_lr * rate
        moves, state = form(rate).update(grads, state, params)
        return optax.apply_updates(params, moves), state, effective.astype(rate.dtype)

    return Optimizer(init, update, params_as_they_are)
