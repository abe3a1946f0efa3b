"""`lodestar doctor`: what is wrong or thin in a store of runs, with the cures, and which runs would help most."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar.cli import _screen
from lodestar.cli._import_screen import say_merged
from lodestar.cli._source import table_at

if TYPE_CHECKING:
    from lodestar.doctor import Coverage, Diagnosis, Finding
    from lodestar.runs.run import Run

SHOWN = 3
COLOURS = {"error": "bold red", "warning": "yellow", "advice": "cyan"}


def doctor(
    runs: Annotated[str, Argument(help="A store; or a table, or a folder of them, that could be imported.")],
    size: Annotated[
        float | None, Option(metavar="N", help="A job's size (width, or parameters): do the runs cover it?")
    ] = None,
    batch: Annotated[float | None, Option(metavar="B", help="The same for its batch size.")] = None,
    steps: Annotated[float | None, Option(metavar="S", help="The same for its length in updates.")] = None,
    everything: Annotated[bool, Option("--all", help=f"Name every run, not just {SHOWN} to a finding.")] = False,
    skip_damaged: Annotated[bool, Option("--skip-damaged", help="Use what can be read of a damaged store.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what is wrong or thin in your runs, and the cure.

    Also which few extra runs would help most. Errors stop a fit or the use of a run; warnings make forecasts worse;
    advice is worth a thought. The exit code is 1 if nothing can be fitted to these runs, or some cannot be read: single
    runs that cannot be used are excluded by a fit.

    With --size, --batch or --steps: whether the runs tell enough to set the rates of a job of another size, batch or
    length, how far it lies outside of them, and which few small runs would settle it.

    \b
    Examples:
      lodestar doctor runs
      lodestar doctor small --size 1024 --batch 256
      lodestar doctor sweep.csv
      lodestar doctor runs --json | jq '.suggestions'
    """
    from lodestar.doctor import JobScale, diagnose

    try:
        job = JobScale(size, batch, steps)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    found, total, left_out = _open(runs, skip_damaged)
    with _screen.progress("examining runs", total, quiet=as_json) as update:
        diagnosis = diagnose(found, update, job=job)
    for name, reason in left_out:
        _screen.warn(f"not examined: {name[:60]}: {reason}")
    if as_json:
        told = [{"run": name, "reason": reason} for name, reason in left_out]
        _screen.show_json({**diagnosis.as_dict(), "left_out": told})
    else:
        _show(diagnosis, everything)
    if left_out or not diagnosis.healthy:
        raise typer.Exit(1)


def _open(where: str, skip_damaged: bool) -> "tuple[Iterable[Run], int | None, list[tuple[str, str]]]":
    """The runs to look at, one by one; how many, if known; and a list that fills with those that cannot be read."""
    from lodestar.importers.tables import open_tables
    from lodestar.runs.store import RunStore

    path = table_at(where)
    if path is not None:
        table = open_tables([path])
        say_merged(table.reader)
        return table.read(), None, table.report.left_out
    store = RunStore.open(where)
    return store.iter(skip_damaged=skip_damaged), len(store.list(skip_damaged=skip_damaged)), []


def _show(diagnosis: "Diagnosis", everything: bool) -> None:
    console = _screen.out()
    shapes = ", ".join(f"{count} {shape}" for shape, count in diagnosis.shapes.items()) or "none"
    _screen.say(f"{diagnosis.runs} runs, {diagnosis.usable} usable. Schedules: {shapes}.", "bold")
    for group in _grouped(diagnosis.findings):
        _show_group(group, everything)
    if not diagnosis.findings:
        _screen.say("Nothing wrong found.", "bold green")
    if diagnosis.coverage is not None:
        _show_coverage(diagnosis.coverage)
    if diagnosis.suggestions:
        found = _screen.table("schedule", ">peak lr", ">seed", "why", title="Runs that would help most")
        for idea in diagnosis.suggestions:
            found.add_row(idea.schedule, f"{idea.peak_lr:.2g}", str(idea.seed), _screen.safe(idea.reason, "dim"))
        console.print()
        console.print(found)


def _show_coverage(coverage: "Coverage") -> None:
    """The verdict, and the small runs that would settle it."""
    job = ", ".join(f"{name} {value:g}" for name, value in coverage.job.asked.items())
    _screen.out().print()
    if coverage.covered:
        _screen.say(f"The runs cover a job of {job}.", "bold green")
    else:
        _screen.say(f"The runs do not cover a job of {job}: see the warnings above.", "bold yellow")
    if not coverage.runs:
        return
    found = _screen.table("small runs that would settle it: lodestar sweep ...", "why")
    for runs in coverage.runs:
        found.add_row(runs.command, _screen.safe(runs.reason, "dim"))
    _screen.out().print(found)


def _show_group(group: "list[Finding]", everything: bool) -> None:
    """Findings of one kind: each run in a line, the cure once."""
    from rich.table import Table

    lines = Table.grid(padding=(0, 2))
    lines.add_column(width=7, no_wrap=True)
    lines.add_column()
    for finding in group if everything else group[:SHOWN]:
        who = "" if finding.run is None else f"{_screen.safe(finding.run, limit=48).plain}: "
        severity = _screen.safe(finding.severity, COLOURS[finding.severity])
        lines.add_row(severity, _screen.safe(f"{who}{finding.sentence}"))
    if len(group) > SHOWN and not everything:
        lines.add_row("", _screen.safe(f"and {len(group) - SHOWN} more runs like these (--all names them)", "dim"))
    lines.add_row(_screen.safe("   cure", "green"), _screen.safe(group[0].cure, "green"))
    _screen.out().print()
    _screen.out().print(lines)


def _grouped(findings: "Iterable[Finding]") -> "list[list[Finding]]":
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.check, finding.cure), []).append(finding)
    return list(groups.values())
