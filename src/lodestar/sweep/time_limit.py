"""The time limit of a trial: seconds, or words such as "30m" and "1h30m"."""

import math
import re

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PARTS = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")


def seconds_of(limit: float | str) -> float:
    """A time limit in seconds. A plain number is seconds already."""
    text = str(limit).replace(" ", "").lower()
    try:
        seconds = float(text)
    except ValueError:
        parts = re.findall(r"([\d.]+)([smhd])", text) if _PARTS.fullmatch(text) else []
        seconds = sum(float(number) * UNITS[unit] for number, unit in parts) if parts else math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"a trial's time limit must be a time above 0, got {limit!r}. Fix: 90s, 30m, 2h, 1h30m")
    return seconds
