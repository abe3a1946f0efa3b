"""Labelled rows, and the three splits of them.

Comes in: arrays of one length. Goes out: slices of them. What a row is (an image, a text) is not known here.
"""

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lodestar_bench.data.split import held_out


class Inputs(Protocol):
    """An array of rows, or something that reads rows as they are asked for."""

    def __len__(self) -> int: ...
    def __getitem__(self, which: Any, /) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Rows:
    """Inputs and labels of one length."""

    inputs: Inputs
    labels: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, which: slice | NDArray[np.int64]) -> "Rows":
        return Rows(self.inputs[which], self.labels[which])


@dataclasses.dataclass(frozen=True)
class Splits:
    """What a model learns from, is chosen by, and is judged on."""

    train: Rows
    validation: Rows
    test: Rows


def split(train: Rows, test: Rows, *, validation: int, name: str, most: int | None = None, tested: int | None = None):
    """Take `validation` rows out of the training data, by the split's name; of the others at most `most`.

    A data set smaller than the official one gives up at most a fifth of its rows.
    """
    kept, held = held_out(len(train), min(validation, len(train) // 5), name)
    if most is not None and most < len(kept):
        kept = np.sort(np.random.default_rng(len(kept)).permutation(kept)[:most])
    return Splits(train[kept], train[held], test if tested is None else test[slice(0, tested)])
