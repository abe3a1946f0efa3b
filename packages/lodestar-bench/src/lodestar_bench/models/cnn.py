"""The paper's CNN: twice (two 3x3 convolutions with ReLU, max pooling, dropout), a dense layer, dropout, a dense layer.

Comes in: sizes. Goes out: a `Model` for images of shape (batch, height, width, channels). Convolutions are padded (the
paper does not say): 28x28 images become 7x7, and the network has 1,867,466 weights.
"""

import jax

from lodestar_bench.models import layers
from lodestar_bench.models.model import Model


def cnn(*, image: int, channels: int, width: int, hidden: int, classes: int, drop: tuple[float, float]) -> Model:
    """`width` channels in the first pair of convolutions, twice as many in the second; dropout after pools, dense."""
    steps = {"conv1": (channels, width), "conv2": (width, width), "conv3": (width, 2 * width)}
    steps["conv4"] = (2 * width, 2 * width)
    flat = (image // 4) ** 2 * 2 * width

    def begin(draw):
        params = {name: layers.conv_begin(draw, 3, *pair, bias=True) for name, pair in steps.items()}
        params["dense1"] = layers.dense_begin(draw, flat, hidden)
        params["dense2"] = layers.dense_begin(draw, hidden, classes, gain=1.0)
        return params, {}

    def apply(params, state, x, key):
        keys = [None] * 3 if key is None else list(jax.random.split(key, 3))
        for i, pair in enumerate((("conv1", "conv2"), ("conv3", "conv4"))):
            for name in pair:
                x = jax.nn.relu(layers.conv(params[name], x))
            x = layers.dropout(keys[i], layers.max_pool(x), drop[0])
        x = jax.nn.relu(layers.dense(params["dense1"], x.reshape(len(x), -1)))
        return layers.dense(params["dense2"], layers.dropout(keys[2], x, drop[1])), state

    return Model(begin, apply, lambda params: params["dense2"]["weight"])
