"""Numbers and counts in words, the same on the whole page."""

import math
from collections.abc import Iterable


def number(value: float | None, digits: int = 4) -> str:
    """A number in few digits; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def count(many: int, thing: str) -> str:
    """1 run, 2 runs."""
    return f"{many} {thing}" if many == 1 else f"{many} {thing}s"


def span(counts: Iterable[int]) -> str:
    """How many runs a row of figures rests on: 5, or 3 to 5 where they differ."""
    found = sorted(set(counts))
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def sentence(text: str | None) -> str:
    """With a capital and a full stop; nothing where there is none."""
    return f"{text[0].upper()}{text[1:].removesuffix('.')}." if text else ""


def percent(share: float, digits: int = 3) -> str:
    """0.05 as 5 %."""
    return f"{float(f'{100 * share:.{digits}g}'):g} %" if math.isfinite(share) else "–"


def short(name: str, most: int = 60) -> str:
    """A long name, cut in the middle."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"


def channels(metric_name: str) -> dict[str, str]:
    """The three quantities of a run in words, the metric first."""
    return {"metric": short(metric_name, 30), "loss": "training loss", "lr": "learning rate"}
