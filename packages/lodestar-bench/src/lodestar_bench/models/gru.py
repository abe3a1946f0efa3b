"""A recurrent network that reads signs one after the other: embedding, one gated recurrent layer, dense output.

Comes in: sizes. Goes out: a `Model` from signs (batch, length) to logits (batch, length, signs). Each text starts from
a state of zeros.
"""

import jax
import jax.numpy as jnp

from lodestar_bench.models import layers
from lodestar_bench.models.model import Model


def gru(*, signs: int, embedding: int, width: int) -> Model:
    """A GRU (Cho et al. 2014) of `width` units."""

    def begin(draw):
        params = {
            "signs": draw((signs, embedding), 1.0),
            "input": layers.dense_begin(draw, embedding, 3 * width, gain=1.0),
            "again": layers.dense_begin(draw, width, 3 * width, gain=1.0),
            "output": layers.dense_begin(draw, width, signs, gain=1.0),
        }
        return params, {}

    def apply(params, state, text, key):
        inputs = layers.dense(params["input"], params["signs"][text]).swapaxes(0, 1)

        def read(hidden, item):
            update, reset, fresh = jnp.split(item, 3, axis=-1)
            again_update, again_reset, again = jnp.split(layers.dense(params["again"], hidden), 3, axis=-1)
            keep = jax.nn.sigmoid(update + again_update)
            new = jnp.tanh(fresh + jax.nn.sigmoid(reset + again_reset) * again)
            hidden = keep * hidden + (1 - keep) * new
            return hidden, hidden

        _, hidden = jax.lax.scan(read, jnp.zeros((text.shape[0], width), jnp.float32), inputs)
        return layers.dense(params["output"], hidden.swapaxes(0, 1)), state

    return Model(begin, apply, lambda params: params["output"]["weight"])
