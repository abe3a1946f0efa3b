"""Layers as pure functions: `x_begin` makes the weights, `x` applies them. Images are NHWC.

Comes in: draws, sizes, arrays. Goes out: dictionaries of float32 arrays, arrays. Dropout draws 16 random bits a unit,
not 32: random numbers are a good part of a small step's time on a CPU.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lodestar_bench.models.model import Draw

Weights = dict[str, Any]
Key = jax.Array
_MOMENTUM = 0.9  # of the running batch statistics


def dense_begin(draw: Draw, inputs: int, outputs: int, *, gain: float = 2.0) -> Weights:
    """He's normal (gain 2, before a ReLU) or LeCun's (gain 1), zero bias."""
    return {"weight": draw((inputs, outputs), math.sqrt(gain / inputs)), "bias": np.zeros(outputs, np.float32)}


def dense(layer: Weights, x: jax.Array) -> jax.Array:
    """x W + b."""
    return x @ layer["weight"] + layer["bias"]


def conv_begin(draw: Draw, size: int, inputs: int, outputs: int, *, bias: bool) -> Weights:
    """He's normal over the fan-out, as in the ResNet paper's later code, zero bias."""
    weight = draw((size, size, inputs, outputs), math.sqrt(2.0 / (size * size * outputs)))
    return {"weight": weight, "bias": np.zeros(outputs, np.float32)} if bias else {"weight": weight}


def conv(layer: Weights, x: jax.Array, *, stride: int = 1) -> jax.Array:
    """Padded by half its size on each side, as PyTorch's `padding=size // 2`."""
    pad = layer["weight"].shape[0] // 2
    out = jax.lax.conv_general_dilated(
        x,
        layer["weight"],
        window_strides=(stride, stride),
        padding=((pad, pad), (pad, pad)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return out + layer["bias"] if "bias" in layer else out


def conv_as_product(layer: Weights, x: jax.Array, *, stride: int = 1) -> jax.Array:
    """The same as `conv`, as one product of shifted copies: faster on a CPU where channels are few, not on a GPU."""
    weight = layer["weight"]
    size, _, inputs, outputs = weight.shape
    pad, (n, height, width, _) = size // 2, x.shape
    rows, columns = -(-height // stride), -(-width // stride)
    padded = jnp.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    fields = [
        padded[:, i : i + (rows - 1) * stride + 1 : stride, j : j + (columns - 1) * stride + 1 : stride]
        for i in range(size)
        for j in range(size)
    ]
    out = jnp.concatenate(fields, axis=-1).reshape(-1, size * size * inputs) @ weight.reshape(-1, outputs)
    out = out.reshape(n, rows, columns, outputs)
    return out + layer["bias"] if "bias" in layer else out


def max_pool(x: jax.Array, size: int = 2) -> jax.Array:
    """The largest of each `size` x `size` field; what does not fill a field is left out."""
    n, height, width, channels = x.shape
    rows, columns = height // size, width // size
    x = x[:, : rows * size, : columns * size]
    return x.reshape(n, rows, size, columns, size, channels).max(axis=(2, 4))


def batch_norm_begin(channels: int) -> tuple[Weights, Weights]:
    """Scale and shift; running mean and variance."""
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    return {"scale": ones, "shift": zeros}, {"mean": zeros, "variance": ones}


def batch_norm(layer: Weights, state: Weights, x: jax.Array, *, learning: bool) -> tuple[jax.Array, Weights]:
    """Normalise by the batch while learning, by the running statistics while judging."""
    if learning:
        mean = x.mean(axis=(0, 1, 2))
        variance = jnp.maximum((x * x).mean(axis=(0, 1, 2)) - mean * mean, 0.0)
        now = {"mean": mean, "variance": variance}
        state = jax.tree.map(lambda old, new: _MOMENTUM * old + (1 - _MOMENTUM) * new, state, now)
    else:
        mean, variance = state["mean"], state["variance"]
    scale = layer["scale"] * jax.lax.rsqrt(variance + 1e-5)
    return x * scale + (layer["shift"] - mean * scale), state


def layer_norm_begin(width: int) -> Weights:
    """Scale and shift."""
    return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}


def layer_norm(layer: Weights, x: jax.Array) -> jax.Array:
    """Over the last axis; the paper's epsilon of 1e-6."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = jnp.square(x - mean).mean(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * layer["scale"] + layer["shift"]


def dropout(key: Key | None, x: jax.Array, rate: float) -> jax.Array:
    """Each unit kept with probability 1 - rate and scaled up; with no key, nothing is dropped."""
    if key is None or rate == 0:
        return x
    kept = jax.random.bits(key, x.shape, jnp.uint16) >= round(rate * 65536)
    return jnp.where(kept, x / (1 - rate), 0.0)
