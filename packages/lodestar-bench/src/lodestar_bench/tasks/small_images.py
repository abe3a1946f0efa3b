"""Splits of an image set at a task's sizes.

Comes in: the official training and test rows, in memory. Goes out: train, validation (out of train) and test, made
smaller as the scale asks.
"""

import numpy as np

from lodestar_bench.data.rows import Rows, Splits, split
from lodestar_bench.tasks.images import shrunk
from lodestar_bench.tasks.task import Sizes


def small_splits(train: Rows, test: Rows, size: Sizes, name: str) -> Splits:
    """The same rows for every run and every scale of a task."""
    parts = split(train, test, validation=size.validation, name=name, most=size.train, tested=size.test)
    return Splits(*(_small(part, size.image) for part in (parts.train, parts.validation, parts.test)))


def _small(rows: Rows, side: int) -> Rows:
    return Rows(shrunk(np.asarray(rows.inputs), side), rows.labels)
