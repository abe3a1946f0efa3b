"""A bag of words: the mean of the words' vectors, then a dense network.

Comes in: sizes. Goes out: a `Model` from word numbers (batch, length), 0 for "no word", to logits.
"""

import jax
import jax.numpy as jnp

from lodestar_bench.models import layers
from lodestar_bench.models.model import Model


def bag(*, words: int, width: int, hidden: int, classes: int) -> Model:
    """Vectors of `width`, one hidden layer with ReLU."""

    def begin(draw):
        params = {
            "words": draw((words, width), 0.1),
            "dense1": layers.dense_begin(draw, width, hidden),
            "dense2": layers.dense_begin(draw, hidden, classes, gain=1.0),
        }
        return params, {}

    def apply(params, state, text, key):
        there = (text > 0).astype(jnp.float32)[..., None]
        mean = (params["words"][text] * there).sum(axis=1) / jnp.sqrt(jnp.maximum(there.sum(axis=1), 1.0))
        return layers.dense(params["dense2"], jax.nn.relu(layers.dense(params["dense1"], mean))), state

    return Model(begin, apply, lambda params: params["dense2"]["weight"])
