"""Shows a bench's table: on the screen, narrow or wide, or as plain data for JSON.

Comes in: a `Story`. Goes out: a table on stdout with what to hold against it, or a dictionary. Computes nothing.
"""

import dataclasses
import math
from typing import TYPE_CHECKING

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar_bench.report.story import Story

WIDE = 110  # columns from which on a difference is shown with its interval


def show_table(story: "Story") -> None:
    """The table, what is at the end of a grid, what failed."""
    from lodestar_bench.report.words import difference, notes, number, p_value, result

    name, wide = story.facts.metric_name, _screen.out().width >= WIDE
    title = f"{story.facts.task}, scale {story.facts.scale}" + ("" if story.complete else " (partial)")
    any_failed = [">failed"] if any(row.failed for row in story.table.rows) else []
    worst = [">worst"] if wide else []
    lines = _screen.table(
        "method", "set to", f">test {name}", *worst, ">to best", ">p", ">div.", *any_failed, title=title
    )
    lines.columns[0].no_wrap = lines.columns[2].no_wrap = True
    for row in story.table.rows:
        gap = difference(story, row.paired)
        gap = gap if wide else gap.partition(" (")[0]
        figures = [result(story, row), *([number(story, row.worst)] if wide else []), gap, p_value(row.welch.p)]
        if not row.finals.count:
            figures = ["failed" if row.trouble or row.failed else "not yet", *["-"] * (len(figures) - 1)]
        elif not row.complete:
            figures[0] += f" ({row.finals.count} of {row.planned})"
        style = "bold" if row.entrant.group == "ours" else ""
        lost = [f"{row.diverged_tuning} + {row.diverged}", *([str(row.failed)] if any_failed else [])]
        lines.add_row(_screen.safe(row.entrant.name, style), row.set_to if row.setting else "-", *figures, *lost)
    _screen.out().print(lines)
    legend = "To best: paired difference to the best other method; p: Welch. Div.: diverged in tuning + final runs."
    _screen.out().print(_screen.safe(legend, "dim"))
    for note in notes(story):
        _screen.out().print(_screen.safe(note, "yellow"))
    for trial, why in list(story.results.failures.items())[:5]:
        _screen.complain(f"{trial} failed: {why}")
    if story.results.failures:
        _screen.complain(f"{len(story.results.failures)} trials failed. Fix: mend it, then add --retry-failed")


def as_data(story: "Story") -> dict[str, object]:
    """Everything in the table."""
    rows = [dataclasses.asdict(row) for row in story.table.rows]
    rows = [{**row.pop("best_other"), **row} for row in rows]
    facts = {"task": story.facts.task, "scale": story.facts.scale, "metric": story.facts.metric_name}
    floor = story.results.floor
    return {
        **facts,
        "direction": str(story.facts.direction),
        "complete": story.complete,
        "diverged_counts_as": None if math.isnan(floor) else floor,
        "rows": rows,
        "failures": dict(story.results.failures),
    }
