"""A plain network of dense layers with ReLU.

Comes in: sizes. Goes out: a `Model` for inputs of shape (batch, features).
"""

import itertools
from collections.abc import Sequence

import jax

from lodestar_bench.models import layers
from lodestar_bench.models.model import Model


def mlp(sizes: Sequence[int], *, dropout: float = 0.0) -> Model:
    """Layers of the given sizes, inputs first, classes last; dropout after each hidden layer."""
    last = f"dense{len(sizes) - 1}"

    def begin(draw):
        pairs = list(itertools.pairwise(sizes))
        gains = [2.0] * (len(pairs) - 1) + [1.0]
        made = enumerate(zip(pairs, gains, strict=True), 1)
        return {f"dense{i}": layers.dense_begin(draw, *pair, gain=gain) for i, (pair, gain) in made}, {}

    def apply(params, state, x, key):
        for i in range(1, len(sizes) - 1):
            x = jax.nn.relu(layers.dense(params[f"dense{i}"], x))
            x = layers.dropout(None if key is None else jax.random.fold_in(key, i), x, dropout)
        return layers.dense(params[last], x), state

    return Model(begin, apply, lambda params: params[last]["weight"])
