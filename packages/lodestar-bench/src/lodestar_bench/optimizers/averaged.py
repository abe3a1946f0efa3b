"""The recipe's optimizer without its momentum, in the averaged form of `lodestar.schedule_free`, the rate an input.

Comes in: a recipe. Goes out: an `Optimizer`, the same object for the same recipe. The trained weights are y, where
gradients are taken; the weights to judge by are the average x. Weight decay pulls at the fast weights z.
"""

import dataclasses
import functools
from typing import Any

import jax
import optax

from lodestar.schedule_free import INTERPOLATION, POWER
from lodestar.schedule_free.optax import eval_params
from lodestar.schedule_free.optax import schedule_free as form
from lodestar_bench.method import Optimizer, OptimizerState
from lodestar_bench.optimizers.plain import direction
from lodestar_bench.problem import Params, TrainingRecipe


@functools.cache
def averaged_with(recipe: TrainingRecipe, interpolation: float, power: float) -> Optimizer:
    """The averaged form of the recipe's optimizer, with numbers of your own."""
    still = direction(dataclasses.replace(recipe, b1=0.0, momentum=0.0))

    def at(rate: jax.Array) -> optax.GradientTransformationExtraArgs:
        return form(optax.chain(still, optax.scale(-rate)), interpolation=interpolation, power=power)

    def init(params: Params, rate: jax.Array) -> OptimizerState:
        return at(rate).init(params)

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        moves, state = at(rate).update(grads, state, params)
        return optax.apply_updates(params, moves), state, rate

    return Optimizer(init, update, lambda params, state: eval_params(state), averaged=True)


def averaged(recipe: TrainingRecipe) -> Optimizer:
    """The averaged form of the recipe's optimizer."""
    return averaged_with(recipe, INTERPOLATION, POWER)
