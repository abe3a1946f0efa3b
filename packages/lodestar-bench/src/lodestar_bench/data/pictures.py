"""Folders of pictures, one a class (ImageFolder): train/<class>/*.JPEG and val/<class>/*.JPEG, on disk or in a tar.

Comes in: a path. Goes out: `Rows` whose images are decoded when they are asked for, as squares of one size. Pillow
decodes. What the classes mean is not known here.
"""

import functools
import io
import tarfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError
from lodestar_bench.data.rows import Rows
from lodestar_bench.data.source import DataSource, Form

SOURCE = DataSource(
    name="ImageNet (ILSVRC 2012)",
    size="about 150 GB; any folder of pictures in this layout will do at cpu scale",
    forms=(Form(("imagenet",)), Form(("imagenet.tar",)), Form(("imagenet_sample.tar",))),
    advice=(
        "Register at https://image-net.org/download.php and unpack it as imagenet/train/<class>/*.JPEG and "
        "imagenet/val/<class>/*.JPEG"
    ),
)
_ENDINGS = (".jpeg", ".jpg", ".png")


class Pictures:
    """Pictures by number: files on disk, or bytes in memory. Indexing gives uint8 (n, side, side, 3)."""

    def __init__(self, items: list[Path | bytes], side: int):
        self._items, self._side = items, side

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, which: slice | NDArray[np.int64]) -> "Pictures | NDArray[np.uint8]":
        if isinstance(which, slice):
            return Pictures(self._items[which], self._side)
        if which.ndim == 1:
            return Pictures([self._items[i] for i in which], self._side)
        return self.decoded(which.ravel()).reshape(*which.shape, self._side, self._side, 3)

    def decoded(self, which: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """The pictures of these numbers, or all."""
        items = self._items if which is None else [self._items[i] for i in which]
        return np.stack([_decode(item, self._side) for item in items])


def pictures(path: Path, side: int, *, classes: int | None = None) -> tuple[Rows, Rows]:
    """The training and validation folders of the first `classes` classes (all by default) in alphabetic order."""
    files = _in_tar(path) if path.suffix == ".tar" else _on_disk(path)
    labels = sorted({label for part, label, _ in files if part == "train"})[:classes]
    if not labels:
        raise BenchError(f"{path} holds no train/<class>/*.JPEG. Fix: lay it out as train/<class> and val/<class>")
    number = {label: i for i, label in enumerate(labels)}
    found = []
    for part in ("train", "val"):
        chosen = [(item, number[label]) for where, label, item in files if where == part and label in number]
        if not chosen:
            raise BenchError(f"{path} has no pictures in {part}/. Fix: lay it out as train/<class> and val/<class>")
        found.append(Rows(Pictures([i for i, _ in chosen], side), np.array([n for _, n in chosen], np.int32)))
    return found[0], found[1]


def _on_disk(path: Path) -> list[tuple[str, str, Path | bytes]]:
    parts = [(part, file) for part in ("train", "val") for file in sorted((path / part).glob("*/*"))]
    return [(part, file.parent.name, file) for part, file in parts if file.suffix.lower() in _ENDINGS]


def _in_tar(path: Path) -> list[tuple[str, str, Path | bytes]]:
    found = []
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                parts = Path(member.name).parts
                if member.isfile() and len(parts) >= 3 and parts[-1].lower().endswith(_ENDINGS):
                    file = archive.extractfile(member)
                    found.append((parts[-3], parts[-2], file.read() if file else b""))
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BenchError(f"{path} is damaged ({error}). Fix: fetch it again") from error
    return sorted(found, key=lambda item: item[:2])


def _decode(item: Path | bytes, side: int) -> NDArray[np.uint8]:
    """Shorter side to `side`, then the middle square."""
    image = _pillow()
    try:
        with image.open(io.BytesIO(item) if isinstance(item, bytes) else item) as opened:
            picture = opened.convert("RGB")
    except OSError as error:
        name = "a picture of the archive" if isinstance(item, bytes) else item
        raise BenchError(f"{name} cannot be decoded ({error}). Fix: fetch it again or delete it") from error
    scale = side / min(picture.size)
    width, height = (max(side, round(length * scale)) for length in picture.size)
    left, top = (width - side) // 2, (height - side) // 2
    picture = picture.resize((width, height), image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(picture.crop((left, top, left + side, top + side)))


@functools.cache
def _pillow():
    from PIL import Image

    return Image
