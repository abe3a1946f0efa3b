"""Damage on purpose: bytes and plain data changed as accidents and strangers change them; one seed, one damage."""

import copy
import os
import random
from typing import Any

TRIES = int(os.environ.get("LODESTAR_FUZZ", "60"))
"""How many are tried in each test: LODESTAR_FUZZ=10000 tries that many."""

NUMBERS = (0, -1, 1, 2, 3.7, 1e30, -1e30, 1e308, 1e-300, 2**31, 2**53 + 1, 2**63, 10**30, 10**400)
STRANGE = (None, True, "", "x", "12", "\ud800", "\x00", [], {}, [[]], [None], {"x": 1}, float("nan"), float("inf"))


def deep(levels: int = 300) -> Any:
    """Lists in lists."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def some_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut out, put in, doubled or cut off."""
    whole, at = bytearray(data), rng.randrange(len(data))
    size = rng.choice((1, 1, 2, 8, 64, 4096))
    match rng.randrange(6):
        case 0 | 1:
            for place in (at, *(rng.randrange(len(data)) for _ in range(size - 1))):
                whole[place] ^= rng.randrange(1, 256)
        case 2:
            del whole[at : at + size]
        case 3:
            whole[at:at] = rng.randbytes(size)
        case 4:
            whole[at:at] = whole[at : at + size]
        case _:
            del whole[at:]
    return bytes(whole)


def some_value(data: Any, rng: random.Random, times: int = 1) -> Any:
    """A copy in which some value, anywhere, is another, is gone, or has company."""
    data = copy.deepcopy(data)
    for _ in range(times):
        places = [*_places(data)]
        if not places:
            return data
        holder, key = rng.choice(places)
        match rng.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 1:
                holder["stranger"] = holder[key]
            case 2 if isinstance(holder[key], int | float) and abs(holder[key]) < 1e100:
                holder[key] = holder[key] * rng.choice((-1, 0.5, 2, 1e10))
            case 3:
                holder[key] = deep()
            case 4 | 5:
                holder[key] = copy.deepcopy(rng.choice(STRANGE))
            case _:
                holder[key] = rng.choice(NUMBERS)
    return data


def _places(data: Any, most: int = 12) -> Any:
    """Every place in the data that holds a value; of a long list some."""
    keys = list(data) if isinstance(data, dict) else range(len(data))
    for key in [*keys][: most if isinstance(data, list) else None]:
        yield data, key
        if isinstance(data[key], dict | list):
            yield from _places(data[key])
