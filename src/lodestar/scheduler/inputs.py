"""What a training job hands over, made into plain numbers: floats, NumPy scalars, 0-d arrays, tensors with `.item()`.

Comes in: anything. Goes out: a number, or None where there is none to be had. Never raises: the caller records it.
"""

import math
import operator
from collections.abc import Mapping
from typing import Any

from lodestar._plain import shown as shown

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


def count_of(value: Any) -> int | None:
    """A number of a whole-number type, NumPy's and tensors' included; None for all others, 3.0 too."""
    try:
        return operator.index(value)
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


def nameless(values: tuple[Any, ...], method: str = "observe") -> str:
    """The sentence on values that were given by position."""
    return (
        f"{method} was given {', '.join(map(shown, values))} by position, which was left out: it may be a loss or a "
        f"metric. Fix: name it, as in {method}(loss=...) or {method}(metric=...)"
    )


def unknown_names(values: Mapping[str, Any], method: str = "observe") -> str:
    """The sentence on values under names that mean nothing here."""
    given = ", ".join(f"{name}={shown(value)}" for name, value in values.items())
    return (
        f"{method} was given {given}, which was left out: it knows a loss and a metric. "
        f"Fix: {method}(loss=...) or {method}(metric=...), whatever the metric is called"
    )
