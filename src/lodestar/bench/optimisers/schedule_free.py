"""Schedule-free AdamW and SGD (Defazio et al. 2024), from optax.contrib, the rate an input.

Comes in: a recipe. Goes out: an `Optimiser` whose trained weights are the sequence y, where gradients are taken, and
whose weights to judge by are the average x. Momentum is switched off inside and takes part as the interpolation
(b1 for Adam, momentum for SGD), as the authors say. The warm-up, if any, is in the rates that come in.
"""

import functools
from typing import Any

import jax
import optax
from optax import contrib

from lodestar.bench.method import Optimiser, OptimiserState
from lodestar.bench.problem import Params, Recipe


@functools.cache
def schedule_free(recipe: Recipe) -> Optimiser:
    """The schedule-free form of the recipe's optimiser."""

    def init(params: Params, rate: jax.Array) -> OptimiserState:
        return _form(recipe, rate).init(params)

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        moves, state = _form(recipe, rate).update(grads, state, params)
        return optax.apply_updates(params, moves), state, rate

    return Optimiser(init, update, _average, averaged=True)


def _form(recipe: Recipe, rate: jax.Array) -> optax.GradientTransformationExtraArgs:
    if recipe.optimiser == "sgd":
        return contrib.schedule_free_sgd(rate, b1=recipe.momentum, weight_decay=recipe.weight_decay)
    return contrib.schedule_free_adamw(rate, b1=recipe.b1, b2=recipe.b2, weight_decay=recipe.weight_decay)


def _average(params: Params, state: OptimiserState) -> Params:
    return contrib.schedule_free_eval_params(state, params)
