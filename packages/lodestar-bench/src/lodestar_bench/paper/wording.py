"""Words of the items: numbers, metrics, per cents and tables as Markdown, texts without marks.

Comes in: numbers and texts. Goes out: texts. Knows no item.
"""

import math
import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a heading that starts with '>' is set to the right."""
    names = [name.removeprefix(">") for name in head]
    rule = ["---:" if name.startswith(">") else "---" for name in head]
    return "\n".join(f"| {' | '.join(line)} |" for line in (names, rule, *rows))


def number(value: float, digits: int = 3) -> str:
    """A number of so many digits, never as a power of ten where a person would not write one; a dash for none."""
    if not math.isfinite(value):
        return "–"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        places = max(0, digits - 1 - (math.floor(math.log10(abs(value))) if value else 0))
        return f"{value:.{places}f}"
    return f"{value:.{digits - 1}e}"


def spread(mean: float, std: float, digits: int = 3) -> str:
    """Mean ± standard deviation."""
    return number(mean, digits) if not math.isfinite(std) else f"{number(mean, digits)} ± {number(std, 2)}"


def percent(share: float, digits: int = 3) -> str:
    """0.05 as '5 %'."""
    if not math.isfinite(share):
        return "–"
    return f"{100 * share:.0f} %" if abs(share) >= 1 else f"{100 * share:.{digits}g} %"


def factor(metric_name: str) -> float:
    """Accuracies are told in per cent."""
    return 100.0 if "accuracy" in metric_name.lower() else 1.0


def result(metric_name: str, mean: float, std: float = math.nan) -> str:
    """A metric, with its standard deviation if given: per cent with two places, anything else with four digits."""
    times = factor(metric_name)
    if not math.isfinite(mean):
        return "–"
    told = [f"{times * x:.2f}" if times != 1 else f"{x:.4g}" for x in (mean, std) if math.isfinite(x)]
    return " ± ".join(told)


def p_value(p: float) -> str:
    """A p-value as one writes it."""
    if not math.isfinite(p):
        return "–"
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def times(factor: float) -> str:
    """1.25 as '1.25 times'."""
    return "–" if not math.isfinite(factor) else f"{factor:.3g} times"


def in_order(place: int) -> str:
    """1st, 2nd, 3rd, 4th."""
    last = {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th") if place % 100 not in (11, 12, 13) else "th"
    return f"{place}{last}"


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "none"


def plain(markdown: str) -> list[str]:
    """The paragraphs without tables, headings, pictures and marks: for a page whose texts are never markup."""
    parts = [part.strip() for part in markdown.split("\n\n")]
    texts = [part for part in parts if part and part[0] not in "|!#"]
    return [re.sub(r"\[([^]]*)]\([^)]*\)", r"\1", re.sub(r"[*`]", "", text)).replace("\n", " ") for text in texts]
