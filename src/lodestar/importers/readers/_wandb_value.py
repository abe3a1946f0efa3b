"""Numbers as W&B writes them: JSON numbers, and "NaN", "Infinity", "-Infinity" as text.

Comes in: a logged value. Goes out: a float, or None for what is no number (text, images, tables, histograms). Nested
values are named with dots, as W&B shows them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_MEDIA = "_type"


def number(value: Any) -> float | None:
    """The number, if it is one."""
    if isinstance(value, str):
        return _WORDS.get(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def numbers(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a row; W&B's own (`_step`, `_runtime`) are left out."""
    for name, value in row.items():
        if not prefix and name.startswith("_"):
            continue
        if isinstance(value, Mapping):
            if _MEDIA not in value:
                yield from numbers(value, f"{prefix}{name}.")
        elif (found := number(value)) is not None:
            yield f"{prefix}{name}", found
