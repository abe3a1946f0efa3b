"""The recipe's own optimizer: AdamW, Adam or SGD with Nesterov momentum, the rate an input.

Comes in: a recipe. Goes out: an `Optimizer`, the same object for the same recipe, so that every plain schedule shares
one compiled step. Weight decay is decoupled in AdamW (p -= rate * (adam + decay * p), as in Optax and PyTorch) and part
of the gradient in Adam and SGD (as in PyTorch). Knows no schedule.
"""

import functools
from typing import Any

import jax
import optax

from lodestar_bench.method import Optimizer, OptimizerState
from lodestar_bench.problem import Params, TrainingRecipe


@functools.cache
def direction(recipe: TrainingRecipe) -> optax.GradientTransformation:
    """What an update subtracts, before it is multiplied by the rate."""
    decay = optax.add_decayed_weights(recipe.weight_decay) if recipe.weight_decay else optax.identity()
    if recipe.optimizer == "sgd":
        return optax.chain(decay, optax.trace(recipe.momentum, nesterov=True))
    adam = optax.scale_by_adam(recipe.b1, recipe.b2)
    return optax.chain(adam, decay) if recipe.optimizer == "adamw" else optax.chain(decay, adam)


@functools.cache
def plain(recipe: TrainingRecipe) -> Optimizer:
    """The recipe's optimizer: params - rate * direction."""
    step = direction(recipe)

    def init(params: Params, rate: jax.Array) -> OptimizerState:
        del rate
        return step.init(params)

    def update(grads: Params, state: Any, params: Params, rate: jax.Array) -> tuple[Params, Any, jax.Array]:
        moves, state = step.update(grads, state, params)
        return descended(params, moves, rate), state, rate

    return Optimizer(init, update, params_as_they_are)


def descended(params: Params, moves: Params, rate: jax.Array) -> Params:
    """params - rate * moves, in each parameter's own precision."""
    return jax.tree.map(lambda p, move: p - (rate * move).astype(p.dtype), params, moves)


def params_as_they_are(params: Params, state: OptimizerState) -> Params:
    """The weights to judge a model by are those that are trained."""
    del state
    return params
