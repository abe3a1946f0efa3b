"""Comparison: groups of runs beside each other: mean, median, spread, best and worst final metric, how many excluded.

Comes in: glimpses. Goes out: blocks. Groups are schedules, and schedules at one peak rate where that has several runs.
A run that a fit would exclude (diverged, stuck), or without a final metric, is counted, not averaged.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from lodestar.report.html import Axis, Block, Cell, Chart, Details, Scatter, Table, Text
from lodestar.report.sections.families import families
from lodestar.report.sections.glimpse import Glimpse
from lodestar.report.sections.sweep import SETS, sets
from lodestar.report.sections.wording import number, short
from lodestar.runs.run import Direction

DRAWN = 14


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs of one kind, and how they ended. NaN where there is nothing to say."""

    name: str
    runs: int
    counted: int
    mean: float
    median: float
    std: float  # of the sample; NaN for a single run
    best: float
    worst: float
    excluded: int
    direction: Direction

    @classmethod
    def of(cls, name: str, runs: Sequence[Glimpse]) -> "Group":
        """From the runs' last metrics."""
        finals = np.array([run.final for run in runs if math.isfinite(run.final)])
        ends = (finals.max(), finals.min()) if len(finals) else (math.nan, math.nan)
        best, worst = ends if runs[0].direction is Direction.MAX else ends[::-1]
        return cls(
            name=name,
            runs=len(runs),
            counted=len(finals),
            mean=float(finals.mean()) if len(finals) else math.nan,
            median=float(np.median(finals)) if len(finals) else math.nan,
            std=float(finals.std(ddof=1)) if len(finals) > 1 else math.nan,
            best=float(best),
            worst=float(worst),
            excluded=sum(bool(run.excluded) for run in runs),
            direction=runs[0].direction,
        )


def groups(runs: Sequence[Glimpse], key: Callable[[Glimpse], str]) -> list[Group]:
    """The best mean first; those without a final metric last."""
    found: dict[str, list[Glimpse]] = {}
    for run in runs:
        found.setdefault(key(run), []).append(run)
    sign = -1.0 if runs[0].direction is Direction.MAX else 1.0
    made = [Group.of(name, members) for name, members in found.items()]
    return sorted(made, key=lambda group: (not group.counted, sign * group.mean if group.counted else 0.0))


def compare_blocks(runs: Sequence[Glimpse]) -> list[Block]:
    """Tables and a drawing for each set of runs that may be compared; none where there is nothing to compare."""
    blocks: list[Block] = []
    for place, part in enumerate(sets(runs)[:SETS]):
        found = _set(part)
        if not found:
            continue
        title = ", ".join(filter(None, (part[0].task, part[0].metric_name)))
        blocks += found if place == 0 else [Details(title, found)]
    return blocks


def _set(part: Sequence[Glimpse]) -> list[Block]:
    table, metric = families(part), part[0].metric_name
    kinds = groups(part, lambda run: table[run.schedule])
    recipes = groups(part, lambda run: f"{table[run.schedule]} at {run.peak_lr:.3g}")
    several = [group for group in recipes if group.counted > 1]
    if len(kinds) < 2 and len(several) < 2:
        return []
    about = f"Final {metric}, {'higher' if part[0].direction is Direction.MAX else 'lower'} is better. "
    blocks: list[Block] = [
        Text(
            f"{about}The last value each run logged. A run that a fit would exclude (diverged, never learned, stuck) "
            "is counted, not averaged. The mean sets the order; the best mean, median and best run are green."
        )
    ]
    shown = several if len(several) > 1 else kinds
    blocks.append(_drawing(shown[:DRAWN], metric))
    blocks.append(_table("schedule", kinds))
    if len(several) > 1:
        single = len(recipes) - len(several)
        note = f"Groups of one run ({single}) are left out." if single else ""
        blocks.append(Details("By schedule and peak learning rate", [_table("schedule at peak rate", several, note)]))
    return blocks


def _table(heading: str, found: Sequence[Group], caption: str = "") -> Table:
    top = {field: _top(found, field) for field in ("mean", "median", "best")}

    def cell(group: Group, field: str) -> Cell:
        value = getattr(group, field)
        return Cell(number(value), "good" if value == top[field] else "")

    rows = [
        [
            short(group.name),
            str(group.runs),
            str(group.counted),
            cell(group, "mean"),
            cell(group, "median"),
            number(group.std, 2),
            cell(group, "best"),
            number(group.worst),
            Cell(str(group.excluded), "warning" if group.excluded else "faint"),
        ]
        for group in found
    ]
    heads = (heading, ">runs", ">n", ">mean", ">median", ">spread (std)", ">best", ">worst", ">excluded")
    return Table(heads, rows, caption, most=20)


def _top(found: Sequence[Group], field: str) -> float:
    """The best value of a column."""
    values = [getattr(group, field) for group in found if group.counted]
    return (max if found[0].direction is Direction.MAX else min)(values, default=math.nan)


def _drawing(found: Sequence[Group], metric: str) -> Chart:
    fine = [group for group in found if group.counted]
    ends = [sorted((group.worst, group.best)) for group in fine]
    x, names = [group.mean for group in fine], [short(group.name, 44) for group in fine]
    places = [f"{group.name} (n = {group.counted})" for group in fine]
    medians = Scatter("median", [group.median for group in fine], range(len(fine)), places, colour=1, size=3.5)
    marks = Scatter(
        "mean, worst to best",
        x,
        range(len(fine)),
        places,
        low=[low for low, _ in ends],
        high=[high for _, high in ends],
        colour=0,
        size=5,
    )
    caption = "A large dot is a group's mean, a small one its median; the line goes from the worst run to the best."
    if len(found) == DRAWN:
        caption += f" The best {DRAWN} groups."
    height = 90 + 26 * len(fine)
    return Chart(
        "groups, the best first",
        [marks, medians],
        Axis(f"final {metric}"),
        Axis(categories=names),
        caption,
        wide=True,
        height=height,
    )
