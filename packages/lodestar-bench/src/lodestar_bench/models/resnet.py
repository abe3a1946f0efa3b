"""Residual networks of basic blocks (He et al. 2016): ResNet-18 and ResNet-34,
and one of ten layers for a laptop.

Comes in: sizes. Goes out: a `Model` for images of shape (batch, height, width, channels). Two stems: the ImageNet one
(7x7 convolution of stride 2, max pooling), and for images of 32 pixels and less the usual 3x3 convolution without
pooling. With 64 channels: 11,220,132 weights (18 layers, small stem, 100 classes), 21,797,672 (34, large, 1,000).
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from lodestar_bench.models import layers
from lodestar_bench.models.model import Draw, Model

Conv = Callable[..., jax.Array]  # layers.conv or layers.conv_as_product

BLOCKS = {10: (1, 1, 1, 1), 18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}


def resnet(
    depth: int,
    *,
    channels: int,
    width: int,
    classes: int,
    large_stem: bool = False,
    stem_stride: int | None = None,
    conv: Conv = layers.conv,
) -> Model:
    """`width` channels in the first of the four groups of blocks, doubled in each that follows.

    The stem's stride is 2 if large, else 1, unless given. `conv` is how convolutions are computed.
    """
    stride_of_stem = stem_stride or (2 if large_stem else 1)
    plan = _plan(BLOCKS[depth], width)

    def begin(draw):
        params: dict[str, Any] = {"stem": layers.conv_begin(draw, 7 if large_stem else 3, channels, width, bias=False)}
        state: dict[str, Any] = {}
        params["stem_norm"], state["stem_norm"] = layers.batch_norm_begin(width)
        for name, inputs, outputs, stride in plan:
            params[name], state[name] = _block_begin(draw, inputs, outputs, stride)
        params["head"] = layers.dense_begin(draw, 8 * width, classes, gain=1.0)
        return params, state

    def apply(params, state, x, key):
        new, learning = {}, key is not None
        x = conv(params["stem"], x, stride=stride_of_stem)
        x, new["stem_norm"] = layers.batch_norm(params["stem_norm"], state["stem_norm"], x, learning=learning)
        x = jax.nn.relu(x)
        x = _stem_pool(x) if large_stem else x
        for name, _, _, stride in plan:
            x, new[name] = _block(params[name], state[name], x, stride, learning, conv)
        return layers.dense(params["head"], x.mean(axis=(1, 2))), new

    return Model(begin, apply, lambda params: params["head"]["weight"])


def _plan(groups: Sequence[int], width: int) -> list[tuple[str, int, int, int]]:
    """Name, channels in, channels out and stride of every block."""
    plan, inputs = [], width
    for i, count in enumerate(groups):
        for j in range(count):
            outputs = width * 2**i
            plan.append((f"block{i + 1}_{j + 1}", inputs, outputs, 2 if i and not j else 1))
            inputs = outputs
    return plan


def _block_begin(draw: Draw, inputs: int, outputs: int, stride: int):
    params = {
        "conv1": layers.conv_begin(draw, 3, inputs, outputs, bias=False),
        "conv2": layers.conv_begin(draw, 3, outputs, outputs, bias=False),
    }
    state = {}
    for name in ("norm1", "norm2"):
        params[name], state[name] = layers.batch_norm_begin(outputs)
    if stride != 1 or inputs != outputs:
        params["short"] = layers.conv_begin(draw, 1, inputs, outputs, bias=False)
        params["short_norm"], state["short_norm"] = layers.batch_norm_begin(outputs)
    return params, state


def _block(params, state, x, stride: int, learning: bool, conv: Conv):
    new, y = {}, conv(params["conv1"], x, stride=stride)
    y, new["norm1"] = layers.batch_norm(params["norm1"], state["norm1"], y, learning=learning)
    y = conv(params["conv2"], jax.nn.relu(y))
    y, new["norm2"] = layers.batch_norm(params["norm2"], state["norm2"], y, learning=learning)
    if "short" in params:
        x = conv(params["short"], x, stride=stride)
        x, new["short_norm"] = layers.batch_norm(params["short_norm"], state["short_norm"], x, learning=learning)
    return jax.nn.relu(x + y), new


def _stem_pool(x: jax.Array) -> jax.Array:
    """3x3 maxima of stride 2, padded by one."""
    padding = ((0, 0), (1, 1), (1, 1), (0, 0))
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), padding)
