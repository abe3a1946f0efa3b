"""One TensorBoard event taken apart: which scalars it holds and where their bytes stand.

The fields are TensorFlow's event.proto, summary.proto and tensor.proto, and the hparams plugin's plugin_data.proto.
"""

import dataclasses
import struct

import numpy as np
from numpy.typing import NDArray

from lodestar.importers.readers import _protobuf as pb
from lodestar.runs import Scalar

# TensorFlow's numbers for types, each with the way its bytes are read.
_DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "u1", 14: "bf16"}
_DTYPES |= {17: "<u2", 19: "<f2", 22: "<u4", 23: "<u8"}
_CONTENT = 4
_FLOATS = {5: "<f4", 6: "<f8"}
_WHOLE = {7, 10, 11, 16, 17}  # int_val, int64_val, bool_val, uint32_val, uint64_val
_HALF = 13
_STATES = {1: "finished", 2: "failed", 3: "running"}


@dataclasses.dataclass(frozen=True)
class Span:
    """A scalar: its tag, and either the place of its bytes and how they are read, or its value."""

    tag: str
    start: int = 0
    stop: int = 0
    dtype: str = "<f8"
    value: float | None = None


@dataclasses.dataclass
class Found:
    step: int = 0
    scalars: list[Span] = dataclasses.field(default_factory=list)
    config: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    state: str = ""
    restarts: bool = False  # a session begins here: what was logged at this step or later is void


def read_event(data: bytes, start: int, stop: int) -> Found:
    found = Found()
    for number, wire, begins, ends, varint in pb.spans(data, start, stop):
        if number == 2 and varint is not None:
            found.step = pb.signed(varint)
        elif number == 5 and wire == pb.BYTES:
            for field, kind, first, last, _ in pb.spans(data, begins, ends):
                if field == 1 and kind == pb.BYTES:
                    _value(data, first, last, found)
        elif number == 7 and wire == pb.BYTES:
            found.restarts = any(n == 1 and v == 1 for n, v in pb.fields(data[begins:ends]))
    return found


def decoded(raw: bytes, dtype: str) -> NDArray[np.float64]:
    """Numbers from the bytes of many scalars of one type."""
    if dtype == "bf16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.frombuffer(raw, dtype).astype(np.float64)


def _value(data: bytes, start: int, stop: int, found: Found) -> None:
    tag, span, plugin, content = "", None, "", b""
    for number, wire, begins, ends, _ in pb.spans(data, start, stop):
        if number == 1 and wire == pb.BYTES:
            tag = data[begins:ends].decode("utf-8", errors="replace")
        elif number == 2 and wire == pb.FIXED32:
            span = Span("", begins, ends, "<f4")
        elif number == 8 and wire == pb.BYTES:
            span = _tensor(data, begins, ends)
        elif number == 9 and wire == pb.BYTES:
            plugin, content = _plugin(data[begins:ends])
    if plugin == "hparams":
        _hparams(content, found)
    elif span is not None:
        found.scalars.append(dataclasses.replace(span, tag=tag))


def _tensor(data: bytes, start: int, stop: int) -> Span | None:
    """The one number of a tensor; None for several, for text, and for types that are no numbers."""
    dtype, span, count = "", None, 0
    for number, wire, begins, ends, varint in pb.spans(data, start, stop):
        if number == 1 and varint is not None:
            dtype = _DTYPES.get(varint, "")
        elif number == _CONTENT and ends > begins:
            span, count = Span("", begins, ends, dtype), (ends - begins) / _width(dtype) if dtype else 0
        elif number in _FLOATS and wire in (pb.BYTES, pb.FIXED32, pb.FIXED64) and ends > begins:
            kind = _FLOATS[number]
            span, count = Span("", begins, ends, kind), count + (ends - begins) / _width(kind)
        elif number in _WHOLE | {_HALF}:
            values = [varint] if wire == pb.VARINT and varint is not None else _packed(data[begins:ends])
            count += len(values)
            if values:
                span = Span("", value=_whole(values[0], dtype, half=number == _HALF))
    return span if dtype and count == 1 else None


def _width(dtype: str) -> int:
    return 2 if dtype == "bf16" else np.dtype(dtype).itemsize


def _packed(data: bytes) -> list[int]:
    """Varints one after another."""
    values, place = [], 0
    while place < len(data):
        value, place = pb.varint_at(data, place, len(data))
        values.append(value)
    return values


def _whole(value: int, dtype: str, *, half: bool) -> float:
    if half:
        return float(decoded((value & 0xFFFF).to_bytes(2, "little"), dtype)[0])
    return float(value if dtype.startswith(("<u", "u")) else pb.signed(value))


def _plugin(data: bytes) -> tuple[str, bytes]:
    for number, value in pb.fields(data):
        if number == 1:
            parts = dict(pb.fields(pb.bytes_of(value)))
            return pb.text(parts.get(1, b"")), pb.bytes_of(parts.get(2, b""))
    return "", b""


def _hparams(content: bytes, found: Found) -> None:
    for number, value in pb.fields(content):
        if number == 3:  # session_start_info: a map of name to google.protobuf.Value
            for part, entry in pb.fields(pb.bytes_of(value)):
                if part == 1:
                    pair = dict(pb.fields(pb.bytes_of(entry)))
                    setting = _setting(pb.bytes_of(pair.get(2, b"")))
                    if setting is not None:
                        found.config[pb.text(pair.get(1, b""))] = setting
        elif number == 4:  # session_end_info
            found.state = _STATES.get(pb.int_of(dict(pb.fields(pb.bytes_of(value))).get(1, 0)), "")


def _setting(data: bytes) -> Scalar | None:
    for number, value in pb.fields(data):
        if number == 2:
            plain = struct.unpack("<d", pb.bytes_of(value))[0]
            return int(plain) if plain.is_integer() and abs(plain) < 2**53 else plain
        if number == 3:
            return pb.text(value)
        if number == 4:
            return bool(value)
    return None
