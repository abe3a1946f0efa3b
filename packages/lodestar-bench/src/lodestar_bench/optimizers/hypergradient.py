"""Hypergradient descent (Baydin et al. 2018): the rate itself goes down the gradient of the loss.

With u the direction of the last update (theta_t = theta_{t-1} - alpha_t u_t), the loss depends on the rate through
d f(theta_t) / d alpha_t = -g_{t+1} . u_t, so that alpha_{t+1} = alpha_t + beta g_{t+1} . u_t. SGD form: u is the
Nesterov direction g + mu v; Adam form: u = m^ / (sqrt(v^) + eps), plus decay * theta where the recipe is AdamW. One
rate for the whole model, as in the paper's algorithms.

Comes in: a recipe and the first rate. The `rate` of each update is read as beta, the hypergradient rate, so one compile
serves its grid; what goes out as the rate in effect is alpha. The equations allow a rate below zero, which would climb;
it is held at zero here, where one good dot product brings it back.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from lodestar_bench.method import Optimizer, OptimizerState
from lodestar_bench.optimizers.plain import descended, direction, params_as_they_are
from lodestar_bench.problem import Params, TrainingRecipe


class HypergradientState(NamedTuple):
    """The rate as it stands, the last direction, and the recipe's own state."""

    alpha: jax.Array
    moves: Params
    inner: Any


@functools.cache
def hypergradient(recipe: TrainingRecipe, first_rate: float) -> Optimizer:
    """The recipe's optimizer with a rate that moves by itself from `first_rate`."""
    step = direction(recipe)

    def init(params: Params, rate: jax.Array) -> OptimizerState:
        alpha = jnp.asarray(first_rate, jnp.result_type(rate))
        return HypergradientState(alpha, jax.tree.map(jnp.zeros_like, params), step.init(params))

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        slope = jnp.asarray(optax.tree.vdot(grads, state.moves), state.alpha.dtype)
        alpha = jnp.maximum(state.alpha + rate * slope, 0).astype(state.alpha.dtype)
        moves, inner = step.update(grads, state.inner, params)
        return descended(params, moves, alpha), HypergradientState(alpha, moves, inner), alpha

    return Optimizer(init, update, params_as_they_are)
