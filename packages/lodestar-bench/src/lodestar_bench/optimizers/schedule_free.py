"""Schedule-free AdamW and SGD (Defazio et al. 2024), from optax.contrib, the rate an input.

Comes in: a recipe. Goes out: an `Optimizer` whose trained weights are the sequence y, where gradients are taken, and
whose weights to judge by are the average x. Momentum is switched off inside and takes part as the interpolation
(b1 for Adam, momentum for SGD), as the authors say. The warm-up, if any, is in the rates that come in.
"""

import functools
from typing import Any

import jax
import optax
from optax import contrib

from lodestar_bench.method import Optimizer, OptimizerState
from lodestar_bench.problem import Params, TrainingRecipe


@functools.cache
def schedule_free(recipe: TrainingRecipe) -> Optimizer:
    """The schedule-free form of the recipe's optimizer."""

    def init(params: Params, rate: jax.Array) -> OptimizerState:
        return _form(recipe, rate).init(params)

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        moves, state = _form(recipe, rate).update(grads, state, params)
        return optax.apply_updates(params, moves), state, rate

    return Optimizer(init, update, _average, averaged=True)


def _form(recipe: TrainingRecipe, rate: jax.Array) -> optax.GradientTransformationExtraArgs:
    if recipe.optimizer == "sgd":
        return contrib.schedule_free_sgd(rate, b1=recipe.momentum, weight_decay=recipe.weight_decay)
    return contrib.schedule_free_adamw(rate, b1=recipe.b1, b2=recipe.b2, weight_decay=recipe.weight_decay)


def _average(params: Params, state: OptimizerState) -> Params:
    return contrib.schedule_free_eval_params(state, params)
