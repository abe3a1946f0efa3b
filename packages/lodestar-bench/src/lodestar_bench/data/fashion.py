"""Fashion-MNIST: 60,000 + 10,000 grey images of 28x28, ten kinds of clothes.

Comes in: nothing. Goes out: `Rows` to learn from and to test on. Reads the four official IDX files.
"""

import functools

import numpy as np

from lodestar_bench._errors import BenchError
from lodestar_bench.data.download import Remote
from lodestar_bench.data.idx import read_idx
from lodestar_bench.data.rows import Rows
from lodestar_bench.data.source import DataSource, Form

_BASE = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
_INSIDE = ("fashion-mnist", "FashionMNIST/raw", "")
SOURCE = DataSource(
    name="Fashion-MNIST",
    size="31 MB",
    forms=(
        Form(_FILES, inside=_INSIDE, system=("/usr/share/datasets/fashion-mnist",)),
        Form(tuple(file.removesuffix(".gz") for file in _FILES), inside=_INSIDE),
    ),
    remotes=(
        Remote(_BASE + _FILES[0], "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26421880),
        Remote(_BASE + _FILES[1], "md5:25c81989df183df01b3e8a0aad5dffbe", 29515),
        Remote(_BASE + _FILES[2], "md5:bef4ecab320f06d8554ea6380940ec79", 4422102),
        Remote(_BASE + _FILES[3], "md5:bb300cfdad3c16e7a12a480ee83cd310", 5148),
    ),
    advice="On Debian and Ubuntu: apt install dataset-fashion-mnist",
)


@functools.lru_cache(maxsize=1)
def fashion() -> tuple[Rows, Rows]:
    """Images (n, 28, 28, 1) and labels: to learn from, and to test on."""
    paths = SOURCE.get()
    parts = [read_idx(path) for path in paths]
    found = []
    for images, labels, path in ((parts[0], parts[1], paths[0]), (parts[2], parts[3], paths[2])):
        if images.ndim != 3 or len(images) != len(labels):
            raise BenchError(
                f"{path} holds {images.shape} and its labels {labels.shape}; they should be (n, 28, 28) and (n,). "
                "Fix: fetch both again"
            )
        found.append(Rows(images[..., None], labels.astype(np.int32)))
    return found[0], found[1]
