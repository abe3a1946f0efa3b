"""Real small data for the adapters' jobs: sklearn's handwritten digits, in an order that depends on the step alone.

Read from sklearn's file: importing sklearn takes every job seconds.
"""

import functools
import gzip
import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BATCH = 64
BATCHES = 20  # an epoch is 20 batches of 64
Arrays = tuple[NDArray[np.float32], NDArray[np.int64]]


@functools.cache
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Images and labels to train on (20 batches), then those to validate on."""
    package = importlib.util.find_spec("sklearn")
    assert package is not None and package.origin is not None
    with gzip.open(Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    table = table[np.random.default_rng(0).permutation(len(table))]
    images, labels = (table[:, :-1] / 16.0).astype(np.float32), table[:, -1].astype(np.int64)
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
