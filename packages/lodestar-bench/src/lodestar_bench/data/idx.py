"""The IDX format of MNIST and its relatives, plain or gzipped.

Comes in: a path. Goes out: an array of bytes. A file that is cut short or is something else is an error.
"""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lodestar_bench._errors import BenchError

_UNSIGNED_BYTE = 8


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array in an IDX file of unsigned bytes."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BenchError(f"{path} is damaged ({error}). Fix: delete it and fetch it again") from error
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] != _UNSIGNED_BYTE or not raw[3]:
        raise BenchError(f"{path} is not an IDX file of bytes: it begins with {raw[:4].hex()}. Fix: fetch it again")
    begin = 4 + 4 * raw[3]
    shape = tuple(int.from_bytes(raw[at : at + 4], "big") for at in range(4, begin, 4))
    if len(raw) != begin + math.prod(shape):
        raise BenchError(
            f"{path} is cut short: {len(raw) - begin} bytes of data where its header says {math.prod(shape)}. "
            "Fix: delete it and fetch it again"
        )
    return np.frombuffer(raw, np.uint8, offset=begin).reshape(shape)
