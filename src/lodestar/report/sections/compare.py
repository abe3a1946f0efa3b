"""Comparison: groups of runs beside each other: mean, spread, best and worst final metric, how many diverged.

Comes in: glimpses. Goes out: blocks. Groups are schedules, and schedules at one peak rate where that has several runs.
A run without a final metric is counted, not averaged.
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
from lodestar.runs.run import Direction, Status

DRAWN = 14


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs of one kind, and how they ended. NaN where there is nothing to say."""

    name: str
    runs: int
    counted: int
    mean: float
    std: float  # of the sample; NaN for a single run
    best: float
    worst: float
    diverged: int

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
            std=float(finals.std(ddof=1)) if len(finals) > 1 else math.nan,
            best=float(best),
            worst=float(worst),
            diverged=sum(run.status is Status.DIVERGED for run in runs),
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
        Text(f"{about}The last value each run logged; a run that diverged is counted, not averaged.")
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
    top = found[0].mean
    rows = [
        [
            short(group.name),
            str(group.runs),
            Cell(number(group.mean), "good" if group.mean == top else ""),
            number(group.std, 2),
            number(group.best),
            number(group.worst),
            Cell(str(group.diverged), "warning" if group.diverged else "faint"),
        ]
        for group in found
    ]
    heads = (heading, ">runs", ">mean", ">spread (std)", ">best", ">worst", ">diverged")
    return Table(heads, rows, caption, most=20)


def _drawing(found: Sequence[Group], metric: str) -> Chart:
    fine = [group for group in found if group.counted]
    ends = [sorted((group.worst, group.best)) for group in fine]
    x, names = [group.mean for group in fine], [short(group.name, 44) for group in fine]
    marks = Scatter(
        "mean, worst to best",
        x,
        range(len(fine)),
        [f"{group.name} ({group.counted} runs)" for group in fine],
        low=[low for low, _ in ends],
        high=[high for _, high in ends],
        colour=0,
        size=5,
    )
    caption = "A dot is a group's mean, its line goes from the worst run to the best."
    if len(found) == DRAWN:
        caption += f" The best {DRAWN} groups."
    height = 90 + 26 * len(fine)
    return Chart(
        "groups, the best first",
        [marks],
        Axis(f"final {metric}"),
        Axis(categories=names),
        caption,
        wide=True,
        height=height,
    )
