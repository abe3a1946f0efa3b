"""The wire format of protocol buffers, just enough to read the few messages trackers leave in files.

A field is an int for a varint, bytes for the rest. Bytes that are no message raise `ValueError`.
"""

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Every field of a message, in the order written."""
    for number, _, start, stop, varint in spans(data, 0, len(data)):
        yield number, data[start:stop] if varint is None else varint


def spans(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int, int, int | None]]:
    """Every field between two places: number, wire type, where its value stands, and the value of a varint."""
    place = start
    while place < stop:
        tag, place = varint_at(data, place, stop)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            begins = place
            value, place = varint_at(data, place, stop)
            yield number, wire, begins, place, value
            continue
        if wire == BYTES:
            length, place = varint_at(data, place, stop)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire} at byte {place}")
        if place + length > stop:
            raise ValueError(f"a field of {length} bytes at byte {place} goes past the end at {stop}")
        yield number, wire, place, place + length, None
        place += length


def varint_at(data: bytes, place: int, stop: int) -> tuple[int, int]:
    """A varint, and the place after it."""
    value = shift = 0
    while place < stop and shift < 70:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place
        shift += 7
    raise ValueError(f"a number without an end at byte {place}")


def signed(value: int) -> int:
    """An int64 from its varint."""
    return value - (1 << 64) if value >= 1 << 63 else value


def text(value: int | bytes) -> str:
    return bytes_of(value).decode("utf-8", errors="replace")


def bytes_of(value: int | bytes) -> bytes:
    """A bytes, string or message field."""
    if isinstance(value, int):
        raise ValueError(f"a message was expected, got the number {value}")
    return value


def int_of(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ValueError(f"a number was expected, got {len(value)} bytes")
    return value
