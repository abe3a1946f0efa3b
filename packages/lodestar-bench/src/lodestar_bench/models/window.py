"""A dense network that reads a window of signs and names the sign that follows.

Comes in: sizes. Goes out: a `Model` from signs (batch, length) to logits (batch, signs). A sign's vector is fetched by
a product with ones and zeros, so that its gradient is a product too: many runs at once share it well, a look-up not.
"""

import jax

from lodestar_bench.models.mlp import mlp
from lodestar_bench.models.model import Model


def window(*, signs: int, length: int, embedding: int, hidden: tuple[int, ...]) -> Model:
    """A vector of `embedding` for each sign, all of a window side by side, then dense layers with ReLU."""
    above = mlp((length * embedding, *hidden, signs))

    def begin(draw):
        vectors = draw((signs, embedding), 0.3)
        params, state = above.begin(draw)
        return {"signs": vectors, **params}, state

    def apply(params, state, text, key):
        vectors = jax.nn.one_hot(text, signs) @ params["signs"]
        return above.apply(params, state, vectors.reshape(*text.shape[:-1], length * embedding), key)

    return Model(begin, apply, above.output_weights)
