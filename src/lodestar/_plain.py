"""Plain data that somebody else may have written: JSON, and the numbers in it.

Comes in: bytes or text, or a value that should be a number. Goes out: what it says, or a `ValueError`, whatever is
wrong with it: Python's own reader also ends in Recursion- and OverflowErrors, and hands on half a character that no
file can hold.
"""

import json
import math
import operator
import sys
from typing import Any

MOST_LEVELS = 32


def from_json(text: bytes | str, *, finite: bool = False) -> Any:
    """What `text` says; `finite`: a number that is NaN or too large is refused as well."""
    numbers: dict[str, Any] = {"parse_float": _finite, "parse_constant": _finite} if finite else {}
    try:
        value = json.loads(text, **numbers)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MOST_LEVELS} levels") from None
    _check_levels(value)
    if (b"\\ud" if isinstance(text, bytes) else "\\ud") in text.lower():  # pyright: ignore[reportOperatorIssue]
        json.dumps(value, ensure_ascii=False).encode()  # UnicodeEncodeError, a ValueError
    return value


def whole(value: Any, name: str, least: int = 0, most: int = 2**62) -> int:
    """A whole number within the bounds; an array's own kind of number is one too."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= operator.index(value) <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, got {shown(value)}")
    return operator.index(value)


def number(value: Any, name: str, least: float = -math.inf) -> float:
    """A finite number, as a float."""
    fine = hasattr(value, "__float__") and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if not fine or not float(value) >= least:
        bound = f" >= {least:g}" if least > -math.inf else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {shown(value)}")
    return float(value)


def numbers(values: Any, name: str, least: float = -math.inf) -> list[float]:
    """A list of finite numbers."""
    plain = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(plain, list | tuple):
        raise ValueError(f"{name} must be a list of numbers, got {shown(values)}")
    return [number(value, name, least) for value in plain]


def texts(values: Any, name: str) -> list[str]:
    """A list of texts."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} must be a list of texts, got {shown(values)}")
    return list(values)


def storable(text: str) -> str:
    """The text with half a character, which no file can hold, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def shown(value: Any) -> str:
    """A value for a sentence, cut short, whatever it is."""
    try:
        return repr(value)[:80]
    except Exception:  # noqa: BLE001  a value that cannot even be shown
        return f"a {type(value).__name__}"


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number


def _check_levels(value: Any) -> None:
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        inner = [
            child.values() if isinstance(child, dict) else child for child in level if isinstance(child, dict | list)
        ]
        level = [one for part in inner for one in part]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {MOST_LEVELS} levels")
