"""Real small data for the adapters' jobs: sklearn's handwritten digits, in an order that depends on the step alone."""

import functools

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

BATCH = 64
BATCHES = 20  # an epoch is 20 batches of 64
Arrays = tuple[NDArray[np.float32], NDArray[np.int64]]


@functools.cache
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Images and labels to train on (20 batches), then those to validate on."""
    images, labels = map(np.asarray, load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = (images[order] / 16.0).astype(np.float32), labels[order].astype(np.int64)
    cut = BATCH * BATCHES
    return images[:cut], labels[:cut], images[cut:], labels[cut:]


def batch_at(step: int, poison: int | None = None) -> Arrays:
    """The batch of update number `step` (1-based); NaN images from update `poison` on."""
    images, labels, _, _ = digits()
    start = (step - 1) % BATCHES * BATCH
    chosen = images[start : start + BATCH]
    if poison is not None and step >= poison:
        chosen = np.full_like(chosen, np.nan)
    return chosen, labels[start : start + BATCH]
