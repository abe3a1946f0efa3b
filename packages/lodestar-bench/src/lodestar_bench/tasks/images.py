"""From stored pixels to a network's inputs: standardised, and while learning shifted and mirrored.

Comes in: uint8 images (batch, height, width, channels), a key while learning. Goes out: float32 images. Also makes
images smaller for the cpu scale.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

FASHION = ((0.2860,), (0.3530,))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
CIFAR100 = ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def standardised(statistics: tuple[Sequence[float], Sequence[float]]) -> Callable:
    """(x / 255 - mean) / std, channel by channel."""
    mean, std = (np.asarray(part, np.float32) for part in statistics)

    def prepare(images: jax.Array, key: jax.Array | None) -> jax.Array:
        return (images.astype(jnp.float32) / 255.0 - mean) / std

    return prepare


def cropped_and_flipped(
    statistics: tuple[Sequence[float], Sequence[float]], *, pad: int = 0, side: int | None = None
) -> Callable:
    """Standardised; while learning a random `side` x `side` part (of the image padded by `pad`), half of them mirrored.

    While judging, the middle part. `side` is the image's own size by default.
    """
    plain = standardised(statistics)

    def prepare(images: jax.Array, key: jax.Array | None) -> jax.Array:
        size = images.shape[1] if side is None else side
        if key is None:
            first = (images.shape[1] - size) // 2
            return plain(images[:, first : first + size, first : first + size], None)
        shift, mirror = jax.random.split(key)
        padded = jnp.pad(plain(images, None), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        corners = jax.random.randint(shift, (len(images), 2), 0, padded.shape[1] - size + 1)
        parts = _parts(padded, corners, size)
        mirrored = jax.random.bernoulli(mirror, shape=(len(images), 1, 1, 1))
        return jnp.where(mirrored, parts[:, :, ::-1], parts)

    return prepare


def _parts(images: jax.Array, corners: jax.Array, size: int) -> jax.Array:
    rows = corners[:, 0, None] + jnp.arange(size)
    columns = corners[:, 1, None] + jnp.arange(size)
    every = jnp.arange(len(images))[:, None, None]
    return images[every, rows[:, :, None], columns[:, None, :]]


def shrunk(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Means of square fields, so that `side` pixels are left; what does not fill a field is cut off evenly."""
    size = images.shape[1]
    field = size // side
    if field <= 1:
        return images
    first = (size - field * side) // 2
    images = images[:, first : first + field * side, first : first + field * side]
    fields = images.reshape(len(images), side, field, side, field, -1)
    return np.round(fields.mean(axis=(2, 4), dtype=np.float32)).astype(np.uint8)
