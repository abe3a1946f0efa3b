"""What a training job hands over, made into plain numbers: floats, NumPy scalars, 0-d arrays, tensors with `.item()`.

Comes in: anything. Goes out: a number, or None where there is none to be had. Never raises: the caller records it.
"""

import math
from typing import Any

_MOST = 2**62


def number_of(value: Any) -> float | None:
    """A float, perhaps not finite; None if the value is no number."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str | bytes):
        return None
    try:
        return float(value.item()) if hasattr(value, "item") else float(value)
    except Exception:  # noqa: BLE001  whatever a framework's scalar does, the job goes on
        return None


def step_of(value: Any) -> int | None:
    """A whole step that fits 64 bits; None if the value is none."""
    if type(value) is int:
        return value if abs(value) < _MOST else None
    number = number_of(value)
    if number is None or not abs(number) < _MOST or number != math.floor(number):
        return None
    return int(number)


def shown(value: Any) -> str:
    """A value for a sentence, cut short, whatever it is."""
    try:
        return repr(value)[:80]
    except Exception:  # noqa: BLE001  a value that cannot even be shown
        return f"a {type(value).__name__}"
