"""The paper's miniGPT: a decoder with the norm after each sub-layer, learned positions, ReLU, dropout.

Comes in: sizes. Goes out: a `Model` from tokens (batch, context) to logits (batch, context, vocabulary). The paper
gives no number of blocks or heads, only 28M weights; six blocks make 28,222,033, the output having its own dense layer.
"""

import jax
import jax.numpy as jnp

from lodestar_bench.models import layers
from lodestar_bench.models.model import Draw, Model


def gpt(*, vocabulary: int, context: int, width: int, hidden: int, blocks: int, heads: int, drop: float = 0.1) -> Model:
    """`hidden` is the width of the feed-forward layer."""
    names = [f"block{i + 1}" for i in range(blocks)]

    def begin(draw):
        params = {
            "tokens": draw((vocabulary, width), 0.02),
            "positions": draw((context, width), 0.02),
            **{name: _block_begin(draw, width, hidden) for name in names},
            "output": layers.dense_begin(draw, width, vocabulary, gain=1.0),
        }
        return params, {}

    def apply(params, state, tokens, key):
        x = params["tokens"][tokens] + params["positions"][: tokens.shape[1]]
        for i, name in enumerate(names):
            x = _block(params[name], x, None if key is None else jax.random.fold_in(key, i), heads, drop)
        return layers.dense(params["output"], x), state

    return Model(begin, apply, lambda params: params["output"]["weight"])


def _block_begin(draw: Draw, width: int, hidden: int):
    return {
        "attend_in": layers.dense_begin(draw, width, 3 * width, gain=1.0),
        "attend_out": layers.dense_begin(draw, width, width, gain=1.0),
        "norm1": layers.layer_norm_begin(width),
        "feed1": layers.dense_begin(draw, width, hidden),
        "feed2": layers.dense_begin(draw, hidden, width, gain=1.0),
        "norm2": layers.layer_norm_begin(width),
    }


def _block(params, x: jax.Array, key, heads: int, drop: float) -> jax.Array:
    first, second = (None, None) if key is None else jax.random.split(key)
    attended = layers.dense(params["attend_out"], _attend(layers.dense(params["attend_in"], x), heads))
    x = layers.layer_norm(params["norm1"], x + layers.dropout(first, attended, drop))
    fed = layers.dense(params["feed2"], jax.nn.relu(layers.dense(params["feed1"], x)))
    return layers.layer_norm(params["norm2"], x + layers.dropout(second, fed, drop))


def _attend(joined: jax.Array, heads: int) -> jax.Array:
    """Each position looks at itself and those before it."""
    batch, length, three = joined.shape
    size = three // 3 // heads
    query, key, value = jnp.moveaxis(joined.reshape(batch, length, 3, heads, size), (2, 3), (0, 2))
    scores = query @ key.swapaxes(-1, -2) / size**0.5
    seen = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e30), axis=-1)
    return jnp.moveaxis(weights @ value, 1, 2).reshape(batch, length, three // 3)
