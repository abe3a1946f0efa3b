"""A problem small enough to learn on by reinforcement in seconds: a valley, and first rates far too low for it."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from lodestar.runs import Direction
from lodestar_bench.problem import AbstractProblem, Figures, TrainingRecipe

CURVATURES = np.array([1.0, 0.5, 0.1], np.float32)


class Slope(AbstractProblem):
    """Half a sum of curvature x weight squared, with a little noise from the batch; the metric is the loss."""

    task, scale, convolutional = "slope", "smoke", False
    direction, metric_name = Direction.MIN, "distance"
    batch_size, steps_per_epoch, evaluate_every = 1, 40, 2

    def __init__(self, rates=(1e-3, 2e-3), total_steps=80, optimizer: Literal["sgd", "adam", "adamw"] = "sgd"):
        self.recipe = TrainingRecipe(optimizer, rates=rates, momentum=0.0)
        self.total_steps = total_steps

    def begin(self, seed):
        return {"first": {"weight": jnp.ones(3), "bias": jnp.ones(1)}, "second": {"weight": jnp.ones((3, 1))}}, {}

    def batches(self, seed, first, count):
        return np.stack([np.random.default_rng([seed, n]).normal(size=3) for n in range(first, first + count)])

    def loss(self, params, state, batch, key):
        return self._height(params) + 1e-3 * jnp.sum(batch * params["first"]["weight"]), (state, jnp.zeros(1))

    def evaluate(self, params, state, split):
        height = float(self._height(params))
        return Figures(height, height)

    def outputs(self, params, state):
        return np.asarray(params["first"]["weight"])[None, :]

    def output_weights(self, params):
        return params["second"]["weight"]

    @staticmethod
    def _height(params):
        flat = [jnp.sum(CURVATURES * jnp.squeeze(params[name]["weight"]) ** 2) for name in ("first", "second")]
        return 0.5 * (sum(flat) + jnp.sum(params["first"]["bias"] ** 2))


def all_nan(params):
    """Weights of a run that blew up."""
    return jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), params)
