"""The forecaster file: a safetensors container with a JSON header, a version and a checksum; no pickle.

Comes in: named arrays and plain data. Goes out: one file, written to a temporary name and renamed, and back. The layout
is the public safetensors one (8 bytes of length, a JSON table, raw bytes), read and written here in a few lines so that
a training job needs no package for it; a test opens our files with the safetensors package.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar import _disk
from lodestar._errors import ForecasterError
from lodestar._extras import update_line

FORMAT = "lodestar-forecaster"
VERSION = 1
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
_MOST_HEADER = 100_000_000


def write(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray], header: Mapping[str, Any], kind: str = FORMAT
) -> None:
    """Write arrays and header to `path`, whole or not at all."""
    target = Path(path)
    table, chunks, offset = {}, [], 0
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
    body = b"".join(chunks)
    text = json.dumps(header, sort_keys=True, allow_nan=False)
    table["__metadata__"] = {
        "format": kind,
        "version": str(VERSION),
        "header": text,
        "sha256": _digest(text, body),
    }
    head = json.dumps(table).encode()
    head += b" " * (-len(head) % 8)
    _write_whole(target, len(head).to_bytes(8, "little") + head + body)


def read(path: str | os.PathLike[str], kind: str = FORMAT) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Arrays and header, after every check. A damaged or newer file is refused with a sentence."""
    word, cure = _WORDS[kind]
    source = Path(path)
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        raise ForecasterError(f"there is no {word} file {source}. Fix: {cure}") from None
    except OSError as error:
        raise ForecasterError(f"the {word} file {source} cannot be read: {error}") from error
    table, body = _split(source, data, word)
    meta = _metadata(source, table, kind)
    if _digest(meta["header"], body) != meta["sha256"]:
        raise ForecasterError(f"{source} is damaged: its checksum does not match. Fix: copy it again or fit again")
    return _tensors(source, table, body), json.loads(meta["header"])


def _split(source: Path, data: bytes, word: str) -> tuple[dict[str, Any], bytes]:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 0 < size <= min(_MOST_HEADER, len(data) - 8):
        raise ForecasterError(f"{source} is not a {word} file, or was cut short. Fix: fit again, or check the path")
    try:
        table = json.loads(data[8 : 8 + size])
    except ValueError:
        raise ForecasterError(
            f"{source} is damaged: its table cannot be read. Fix: copy it again or fit again"
        ) from None
    if not isinstance(table, dict):
        raise ForecasterError(f"{source} is damaged: its table is not a table. Fix: copy it again or fit again")
    return table, data[8 + size :]


def _metadata(source: Path, table: dict[str, Any], kind: str) -> dict[str, str]:
    word, cure = _WORDS[kind]
    meta = table.pop("__metadata__", None)
    if not isinstance(meta, dict) or meta.get("format") != kind:
        raise ForecasterError(f"{source} is not a Lodestar {word}. Fix: {cure}")
    version = str(meta.get("version", ""))
    if not version.isdigit() or int(version) > VERSION:
        raise ForecasterError(
            f"{source} has format version {version or 'none'}, this Lodestar reads up to {VERSION}. "
            f"Fix: {update_line()}"
        )
    if "header" not in meta or "sha256" not in meta:
        raise ForecasterError(f"{source} is damaged: no header or checksum. Fix: copy it again or fit again")
    return meta


def _tensors(source: Path, table: dict[str, Any], body: bytes) -> dict[str, NDArray]:
    try:
        return {
            name: np.frombuffer(body[slice(*entry["data_offsets"])], dtype=_CODES[entry["dtype"]]).reshape(
                entry["shape"]
            )
            for name, entry in table.items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ForecasterError(f"{source} is damaged: {error}. Fix: copy it again or fit again") from error


def _digest(text: str, body: bytes) -> str:
    digest = hashlib.sha256(text.encode())
    digest.update(body)
    return digest.hexdigest()


def _write_whole(target: Path, data: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _disk.replace_file(target, data)
    except OSError as error:
        raise ForecasterError(
            f"the file {target} cannot be written: {error}. Nothing was changed. "
            "Fix: free some space, or write to another folder"
        ) from error
