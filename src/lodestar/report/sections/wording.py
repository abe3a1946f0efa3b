"""Numbers and counts in words, the same on the whole page."""

import math


def number(value: float | None, digits: int = 4) -> str:
    """A number in few digits; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def count(many: int, thing: str) -> str:
    """1 run, 2 runs."""
    return f"{many} {thing}" if many == 1 else f"{many} {thing}s"


def percent(share: float, digits: int = 3) -> str:
    """0.05 as 5 %."""
    return f"{float(f'{100 * share:.{digits}g}'):g} %" if math.isfinite(share) else "–"


def short(name: str, most: int = 60) -> str:
    """A long name, cut in the middle."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 + 1 :]}"


def channels(metric_name: str) -> dict[str, str]:
    """The three quantities of a run in words, the metric first."""
    return {"metric": short(metric_name, 30), "loss": "training loss", "lr": "learning rate"}
