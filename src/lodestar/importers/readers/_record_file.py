"""TFRecord files, the framing of TensorBoard's event files: length, checksum, data, checksum.

A half record at the end (a job still writing, or killed) is left for another day and counted.
"""

import dataclasses
import struct
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

BLOCK = 8 << 20
_LONGEST_CHECKED = 1 << 16
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")


@dataclasses.dataclass(frozen=True)
class Block:
    """Some whole records: `data[start:stop]` for each, and which of them are as they were written."""

    data: bytes
    starts: list[int]
    stops: list[int]
    sound: NDArray[np.bool_]


class Corrupt(Exception):
    """The file is damaged from a byte on: nothing after it can be read."""


@dataclasses.dataclass
class RecordFile:
    """Reads a file in blocks. `tail` is the number of bytes of a half record left at the end."""

    file: IO[bytes]
    tail: int = 0

    def blocks(self) -> Iterator[Block]:
        """Every whole record, block by block."""
        rest, position = b"", 0
        while fresh := self.file.read(BLOCK):
            data = rest + fresh
            starts, stops, done = _frames(data)
            bad = _bad_lengths(data, starts)
            if bad is not None:
                starts, stops = starts[:bad], stops[:bad]
            yield Block(data, starts, stops, _sound(data, starts, stops))
            if bad is not None or _damaged(data, done):
                where = position + (starts[bad - 1] if bad else 0 if bad is not None else done)
                raise Corrupt(f"the length of a record near byte {where} does not fit its checksum")
            rest, position = data[done:], position + done
        self.tail = len(rest)


def masked_crc(data: bytes) -> int:
    """The checksum of one record, as TensorFlow stores it."""
    return int(crc_of_rows(np.frombuffer(data, np.uint8).reshape(1, -1))[0])


def crc_of_rows(rows: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The checksums of many records of one length, a row each: CRC-32C, turned as TensorFlow stores it."""
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(rows.T):
        crc = _TABLE[(crc ^ column) & 0xFF] ^ (crc >> 8)
    crc = np.bitwise_not(crc, dtype=np.uint32)
    return ((crc >> 15) | (crc << 17)).astype(np.uint32) + np.uint32(0xA282EAD8)


def _frames(data: bytes) -> tuple[list[int], list[int], int]:
    """Where whole records start and stop, and where the first half one begins."""
    starts, stops, place, end, length_at = [], [], 0, len(data), _LENGTH.unpack_from
    while place + 12 <= end:
        stop = place + 12 + length_at(data, place)[0]
        if stop + 4 > end:
            break
        starts.append(place + 12)
        stops.append(stop)
        place = stop + 4
    return starts, stops, place


def _damaged(data: bytes, place: int) -> bool:
    """Whether the record that is not whole has a length we cannot believe."""
    return place + 12 <= len(data) and _CRC.unpack_from(data, place + 8)[0] != masked_crc(data[place : place + 8])


def _bad_lengths(data: bytes, starts: list[int]) -> int | None:
    """The first record whose length is not what was written."""
    if not starts:
        return None
    found = _rows(data, np.asarray(starts) - 12, 12)
    bad = np.flatnonzero(crc_of_rows(found[:, :8]) != _as_int(found[:, 8:]))
    return int(bad[0]) if len(bad) else None


def _sound(data: bytes, starts: list[int], stops: list[int]) -> NDArray[np.bool_]:
    """Which records fit their checksum; those of one length are checked at once, very long ones (images) are not."""
    first = np.asarray(starts, np.int64)
    lengths = np.asarray(stops, np.int64) - first
    sound = np.ones(len(first), bool)
    for length in np.unique(lengths):
        if length <= _LONGEST_CHECKED:
            picked = np.flatnonzero(lengths == length)
            found = _rows(data, first[picked], int(length) + 4)
            sound[picked] = crc_of_rows(found[:, :-4]) == _as_int(found[:, -4:])
    return sound


def _rows(data: bytes, starts: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, np.uint8), width)
    return windows[starts]


def _as_int(rows: NDArray[np.uint8]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(rows).view("<u4")[:, 0]


def _table() -> NDArray[np.uint32]:
    """CRC-32C (Castagnoli), one byte at a time."""
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, (crc >> 1) ^ np.uint32(0x82F63B78), crc >> 1)
    return crc.astype(np.uint32)


_TABLE = _table()
