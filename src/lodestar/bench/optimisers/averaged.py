"""The recipe's optimiser without its momentum, in the averaged form of `lodestar.averaging`, the rate an input.

Comes in: a recipe. Goes out: an `Optimiser`, the same object for the same recipe. The trained weights are y, where
gradients are taken; the weights to judge by are the average x. Weight decay pulls at the fast weights z.
"""

import dataclasses
import functools
from typing import Any

import jax
import optax

from lodestar.averaging import INTERPOLATION, POWER
from lodestar.averaging.optax import averaged as form
from lodestar.averaging.optax import averaged_params
from lodestar.bench.method import Optimiser, OptimiserState
from lodestar.bench.optimisers.plain import direction
from lodestar.bench.problem import Params, Recipe


@functools.cache
def averaged_with(recipe: Recipe, interpolation: float, power: float) -> Optimiser:
    """The averaged form of the recipe's optimiser, with numbers of your own."""
    still = direction(dataclasses.replace(recipe, b1=0.0, momentum=0.0))

    def at(rate: jax.Array) -> optax.GradientTransformationExtraArgs:
        return form(optax.chain(still, optax.scale(-rate)), interpolation=interpolation, power=power)

    def init(params: Params, rate: jax.Array) -> OptimiserState:
        return at(rate).init(params)

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        moves, state = at(rate).update(grads, state, params)
        return optax.apply_updates(params, moves), state, rate

    return Optimiser(init, update, lambda params, state: averaged_params(state), averaged=True)


def averaged(recipe: Recipe) -> Optimiser:
    """The averaged form of the recipe's optimiser."""
    return averaged_with(recipe, INTERPOLATION, POWER)
