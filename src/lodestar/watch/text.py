"""The same in a terminal: all jobs in a table, and the newest decisions and warnings below it.

Comes in: jobs. Goes out: something Rich can print. Names and notes are shown as they are, never as markup.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lodestar.report.sections.why import word
from lodestar.report.sections.wording import number
from lodestar.watch.jobs import Job

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

NEWEST = 6  # decisions


def screen(jobs: Sequence[Job], safe: "Callable[..., Text]") -> "Group":
    """Everything, once. `safe` makes a text that is nothing but text."""
    from rich.console import Group
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("job", "status"):
        table.add_column(name, overflow="fold")
    for name in ("done", "left", "loss", "metric", "forecast of the end", "warnings"):
        table.add_column(name, justify="right")
    for job in jobs:
        row = job.row()
        ends = row["interval"]
        end = number(row["final"]) + (f" ({number(ends[0])} to {number(ends[1])})" if ends else "")
        table.add_row(
            safe(row["name"], limit=40),
            row["status"],
            f"{row['step']:,} of {row['total']:,}",
            left(row["seconds_left"]),
            number(row["loss"]),
            number(row["metric"]),
            end,
            str(row["warnings"] or "–"),
        )
    return Group(
        table, *([safe("")] if jobs else [safe("no job has logged a decision here yet")]), *_newest(jobs, safe)
    )


def _newest(jobs: Sequence[Job], safe: "Callable[..., Text]") -> "list[Text]":
    found = sorted(((job.seen, job, job.last) for job in jobs), key=lambda one: -one[0])[:NEWEST]
    lines = []
    for _, job, d in found:
        note = f": {d.note}" if d.note else ""
        lines.append(safe(f"{job.steered.name}, after step {d.step:,}: {word(d.outcome)}{note}"))
        lines += [safe(f"  warning: {text}", "yellow") for text in job.steered.log.warnings[-2:]]
        if job.waiting is not None:
            lines.append(safe(f"  waiting: {job.waiting}, sent by {job.waiting.by}"))
    return lines


def left(seconds: float | None) -> str:
    """Seconds in words."""
    if seconds is None:
        return "–"
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
