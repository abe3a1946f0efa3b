"""Families: the few kinds of schedule a reader can tell apart by colour.

Comes in: glimpses. Goes out: a family for each, at most `MOST` in all, the same everywhere on the page. Rare ones are
gathered under one name.
"""

from collections import Counter
from collections.abc import Sequence

from lodestar.report.sections.glimpse import Glimpse

MOST = 8
REST = "other schedules"


def families(runs: Sequence[Glimpse]) -> dict[str, str]:
    """Schedule to family, in the order of the legend: the most frequent first."""
    counts = Counter(run.schedule for run in runs)
    if len(counts) <= MOST:
        return {name: name for name, _ in counts.most_common()}
    # Names such as "random-17", one to a run, make no families of their own: what stands before the number does.
    stems = Counter(dict.fromkeys(map(_stem, counts), 0))
    for name, count in counts.items():
        stems[_stem(name)] += count
    kept = [stem for stem, _ in stems.most_common(MOST if len(stems) <= MOST else MOST - 1)]
    ordered = sorted(counts, key=lambda name: kept.index(_stem(name)) if _stem(name) in kept else MOST)
    return {name: _stem(name) if _stem(name) in kept else REST for name in ordered}


def colours(table: dict[str, str]) -> dict[str, int]:
    """Family to its number in the palette."""
    return {family: place for place, family in enumerate(dict.fromkeys(table.values()))}


def _stem(name: str) -> str:
    return name.rstrip("0123456789").rstrip(" -_.:#") or name
