"""`lodestar runs`: what is in a store, a line a run; and tidying it. Reads no curves to list."""

import math
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lodestar.cli import _screen

if TYPE_CHECKING:
    from rich.table import Table

    from lodestar.runs.summary import RunSummary

SHOWN = 40
NAME, SCHEDULE = 32, 16  # characters of each that are shown where there is room
SHORT_NAME, SHORT_SCHEDULE = 9, 6  # and where there is none


def list_runs(
    store: Annotated[str, Argument(help="The store to list: a folder, or an address such as s3://bucket/runs.")],
    remove: Annotated[list[str] | None, Option(metavar="NAME", help="Remove this run; may be repeated.")] = None,
    compact: Annotated[bool, Option("--compact", help="Merge the store's files; quicker after many writes.")] = False,
    skip_damaged: Annotated[bool, Option("--skip-damaged", help="List what can be read of a damaged store.")] = False,
    everything: Annotated[bool, Option("--all", help=f"List all runs, not just {SHOWN}.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print all runs as JSON.")] = False,
) -> None:
    """List the runs in a store.

    \b
    Examples:
      lodestar runs runs
      lodestar runs runs --json | jq '.runs[].final_metric'
      lodestar runs runs --remove bad-run --compact
    """
    from lodestar.runs.store import RunStore

    found = RunStore.open(store)
    if remove:
        found.remove(remove)
    if compact:
        found.compact()
    listed = found.list(skip_damaged=skip_damaged)
    if as_json:
        _screen.show_json({"store": store, "runs": [summary.as_dict() for summary in listed]})
    else:
        _show(listed, len(listed) if everything else SHOWN)


def _show(listed: "list[RunSummary]", most: int) -> None:
    if not listed:
        _screen.say("The store is empty. Next: lodestar import FILES --out STORE")
        return
    rows = listed[:most]
    found = _table(rows, NAME, SCHEDULE)
    if (over := _screen.width_of(found) - _screen.out().width) > 0:  # names give way, never figures
        name = min(NAME, max(len(summary.name) for summary in rows))
        schedule = min(SCHEDULE, max(len(summary.schedule or "-") for summary in rows))
        over_still = over - max(name - SHORT_NAME, 0)
        found = _table(rows, max(name - over, SHORT_NAME), max(schedule - max(over_still, 0), SHORT_SCHEDULE))
    _screen.show_table(found)
    more = f", of which {most} are shown (--all shows the rest)" if len(listed) > most else ""
    metrics = sorted({f"{summary.metric_name} ({summary.direction})" for summary in listed})
    finals = ", ".join(metrics[:3]) + (", ..." if len(metrics) > 3 else "")
    _screen.say(f"{len(listed)} runs{more}. Final: the last {finals}.", limit=300)


def _table(listed: "list[RunSummary]", name: int, schedule: int) -> "Table":
    """A row a run; texts longer than their limit are cut in the middle."""
    scales = _varying(listed)
    heads = ("run", "status", "schedule", ">peak lr", *(f">{name}" for name in scales), ">seed", ">steps", ">points")
    found = _screen.table(*heads, ">final")
    for column in found.columns:
        column.no_wrap = True
    colours = {"finished": "green", "diverged": "red", "cut short": "yellow"}
    for row, summary in enumerate(listed):
        found.add_row(
            _screen.safe(summary.name, limit=name),
            _screen.safe(summary.status, colours[summary.status]),
            _screen.safe(summary.schedule or "-", limit=schedule),
            _screen.number(summary.peak_lr, 3),
            *(_screen.number(values[row], 6) for values in scales.values()),
            str(summary.seed if summary.seed is not None else "-"),
            str(summary.total_steps),
            str(summary.points),
            _screen.number(summary.final_metric),
        )
    return found


def _varying(listed: "list[RunSummary]") -> "dict[str, list[float]]":
    """Size and batch of each run, where they are not the same in all; NaN where not known."""
    from lodestar.runs.scale import scale_of

    scales = [scale_of(summary) for summary in listed]
    sizes = [scale.size or ("size", math.nan) for scale in scales]
    kinds = {kind for kind, value in sizes if value == value}
    head = kinds.pop() if len(kinds) == 1 else "size"
    columns = {head: [value for _, value in sizes], "batch": [scale.batch_size or math.nan for scale in scales]}
    return {name: values for name, values in columns.items() if len({str(value) for value in values}) > 1}
