"""Mechanic (Cutkosky et al. 2023), from optax.contrib: learns the scale of the recipe's own updates.

Comes in: a recipe. The `rate` of each update is the base rate (a schedule around 1) that the inner optimizer is run at;
Mechanic multiplies the summed updates by a scale it learns. What goes out as the rate in effect is that scale, summed
over its six betas, times the base rate. Mechanic's own settings are Optax's defaults.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from optax import contrib

from lodestar_bench.method import Optimizer, OptimizerState
from lodestar_bench.optimizers.plain import direction, params_as_they_are
from lodestar_bench.problem import Params, TrainingRecipe


@functools.cache
def mechanic(recipe: TrainingRecipe) -> Optimizer:
    """The recipe's optimizer under Mechanic."""

    def form(rate: jax.Array) -> optax.GradientTransformationExtraArgs:
        multiplier: Any = rate
        return contrib.mechanize(optax.chain(direction(recipe), optax.scale_by_learning_rate(multiplier)))

    def init(params: Params, rate: jax.Array) -> OptimizerState:
        return form(rate).init(params)

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        moves, state = form(rate).update(grads, state, params)
        effective = jnp.sum(state.s) * rate
        return optax.apply_updates(params, moves), state, effective.astype(rate.dtype)

    return Optimizer(init, update, params_as_they_are)
