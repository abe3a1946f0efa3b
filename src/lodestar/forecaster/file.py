"""The forecaster file: a safetensors container with a JSON header, a version and a checksum; no pickle.

Comes in: named arrays and plain data. Goes out: one file, written to a temporary name and renamed, and back. The layout
is the public safetensors one (8 bytes of length, a JSON table, raw bytes), read and written here in a few lines so that
a training job needs no package for it; a test opens our files with the safetensors package.

The checksum stands first in the table, and covers every byte of the file but itself. In version 1, the files of release
one, it covers header and arrays and not the table, which is why the table is checked by itself as well. A checksum
tells damage; it is no signature, and does not tell who wrote a file.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar import _disk
from lodestar._credentials import safe_cause
from lodestar._errors import ForecasterError
from lodestar._extras import update_line
from lodestar._plain import from_json

FORMAT = "lodestar-forecaster"
VERSION = 3
CHECKPOINT = "lodestar-fit-checkpoint"
_CODES = {
    "F64": np.float64,
    "F32": np.float32,
    "I64": np.int64,
    "I32": np.int32,
    "U32": np.uint32,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
_WORDS = {FORMAT: ("forecaster", "make one with lodestar fit"), CHECKPOINT: ("checkpoint", "start the fit afresh")}
_NAMES = {np.dtype(kind): code for code, kind in _CODES.items()}
_MARK = b'{"__metadata__": {"sha256": "'  # what a table begins with since version 2, before its checksum
_BLANK = "0" * 64
_MOST_HEADER = 64 * 2**20
_MOST_BYTES = 4 * 2**30


def write(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray], header: Mapping[str, Any], kind: str = FORMAT
) -> None:
    """Write arrays and header to `path`, whole or not at all."""
    text = json.dumps(header, sort_keys=True, allow_nan=False)
    meta = {"sha256": _BLANK, "format": kind, "version": str(VERSION), "header": text}
    table: dict[str, Any] = {"__metadata__": meta}
    chunks, offset = [], 0
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")  # not ascontiguousarray: it gives a number an axis
        if array.dtype not in _NAMES:
            raise ForecasterError(f"array {name!r} has type {array.dtype}, which the format does not hold")
        chunk = array.tobytes()
        table[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(chunk)],
        }
        chunks.append(chunk)
        offset += len(chunk)
    head = json.dumps(table).encode()
    head += b" " * (-len(head) % 8)
    body = b"".join(chunks)
    head = head.replace(_BLANK.encode(), _digest(head, body).encode(), 1)  # the first is its own: `_MARK` is before it
    _write_whole(Path(path), len(head).to_bytes(8, "little") + head + body)


def read(path: str | os.PathLike[str], kind: str = FORMAT) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Arrays and header, after every check. A damaged or newer file is refused with a sentence."""
    word, cure = _WORDS[kind]
    source = Path(path)
    try:
        head, body = _split(_disk.read_whole(source, _MOST_BYTES), word)
        table = from_json(head, finite=True)
        meta = _metadata(table, word, cure, kind)
        digest = _digest_of_release_one(meta, body) if meta["version"] == "1" else _digest(head, body)
        if meta["sha256"] != digest:
            raise ValueError("its checksum does not match")
        header = from_json(meta["header"], finite=True)
        if not isinstance(header, dict):
            raise ValueError("its header is no table")
        return _tensors(table, body), header
    except ForecasterError as error:
        raise ForecasterError(f"{source} {error}") from None
    except FileNotFoundError:
        raise ForecasterError(f"there is no {word} file {source}. Fix: {cure}") from None
    except OSError as error:
        raise ForecasterError(f"the {word} file {source} cannot be read: {error}") from error
    except Exception as error:
        raise damaged(source, error) from error


def damaged(source: str | os.PathLike[str], error: Exception) -> ForecasterError:
    """The sentence for a file that is not as it was written."""
    why = (str(error) if isinstance(error, ValueError) else repr(error)).split("\n")[0][:200]
    return ForecasterError(f"{source} is damaged: {why}. Fix: copy it again or fit again")


def _split(data: bytes, word: str) -> tuple[bytes, bytes]:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 0 < size <= min(_MOST_HEADER, len(data) - 8):
        raise ForecasterError(f"is not a {word} file, or was cut short. Fix: fit again, or check the path")
    return data[8 : 8 + size], data[8 + size :]


def _metadata(table: Any, word: str, cure: str, kind: str) -> dict[str, str]:
    if not isinstance(table, dict):
        raise ValueError("its table is not a table")
    meta = table.pop("__metadata__", None)
    if not isinstance(meta, dict) or meta.get("format") != kind:
        raise ForecasterError(f"is not a Lodestar {word}. Fix: {cure}")
    version = meta.get("version")
    if not isinstance(version, str) or version not in map(str, range(1, VERSION + 1)):
        raise ForecasterError(
            f"has format version {str(version or 'none')[:20]}, this Lodestar reads up to {VERSION}. "
            f"Fix: {update_line()}"
        )
    if not isinstance(meta.get("header"), str) or not isinstance(meta.get("sha256"), str):
        raise ValueError("no header or checksum")
    return meta


def _tensors(table: dict[str, Any], body: bytes) -> dict[str, NDArray]:
    """The arrays, which must fill the body one after another, without gap or overlap."""
    for name, entry in table.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"the entry of array {name[:80]!r} is not one")
        if entry["dtype"] not in _CODES or not _wholes(entry["shape"]) or not _wholes(entry["data_offsets"]):
            raise ValueError(f"type, shape or place of array {name[:80]!r} is none")
    end = 0
    for first, last in sorted(entry["data_offsets"] for entry in table.values()):
        if not end == first <= last:
            raise ValueError("its arrays do not follow one another")
        end = last
    if end != len(body):
        raise ValueError("its arrays do not fill it")
    return {name: _array(name, entry, body) for name, entry in table.items()}


def _array(name: str, entry: dict[str, Any], body: bytes) -> NDArray:
    kind, shape, (first, last) = np.dtype(_CODES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
    if math.prod(shape) * kind.itemsize != last - first:
        raise ValueError(f"array {name[:80]!r} of shape {shape} is not {last - first} bytes long")
    flat = np.frombuffer(body, kind, offset=first, count=math.prod(shape))
    if kind == np.bool_ and np.any(flat.view(np.uint8) > 1):
        raise ValueError(f"array {name[:80]!r} holds something else than true and false")
    return flat.reshape(shape)


def _wholes(values: Any) -> bool:
    return isinstance(values, list) and len(values) <= 8 and all(type(one) is int and one >= 0 for one in values)


def _digest(head: bytes, body: bytes) -> str:
    """Of the whole file as it was before its checksum was filled in."""
    blank = head[: len(_MARK)] + _BLANK.encode() + head[len(_MARK) + len(_BLANK) :]
    digest = hashlib.sha256(len(head).to_bytes(8, "little") + blank)
    digest.update(body)
    return digest.hexdigest()


def _digest_of_release_one(meta: Mapping[str, str], body: bytes) -> str:
    digest = hashlib.sha256(meta["header"].encode())
    digest.update(body)
    return digest.hexdigest()


def _write_whole(target: Path, data: bytes) -> None:
    try:
        _disk.make_folder(target.parent)
        _disk.replace_file(target, data)
    except OSError as error:
        raise ForecasterError(
            f"the file {target} cannot be written: {error}. Nothing was changed. "
            "Fix: free some space, or write to another folder"
        ) from safe_cause(error)
