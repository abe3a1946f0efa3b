"""What a training job hands over, made into plain numbers: floats, NumPy scalars, 0-d arrays, tensors with `.item()`.

Comes in: anything. Goes out: a number, or None where there is none to be had. Never raises: the caller records it.
"""

import math
from typing import Any


def number_of(value: Any) -> float | None:
    """A float, perhaps not finite; None if the value is no number."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str | bytes):
        return None
    try:
        return float(value.item()) if hasattr(value, "item") else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError, AttributeError):
        return None


def step_of(value: Any) -> int | None:
    """A whole step; None if the value is none."""
    if type(value) is int:
        return value
    number = number_of(value)
    if number is None or not math.isfinite(number) or number != math.floor(number):
        return None
    return int(number)
