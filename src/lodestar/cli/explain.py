"""`lodestar explain`: what the scheduler did in a run that is over, under way or killed, and why, from its log."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.scheduler import Decision, Log, Outcome


def explain_command(
    log: Annotated[Path, Argument(help="The file given to the job as Scheduler(log=...).")],
    out: Annotated[Path | None, Option("--out", "-o", help="Draw it into this .png or .svg as well.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print every decision as JSON.")] = False,
) -> None:
    """Show what the scheduler did in a run, decision by decision, and why.

    \b
    Examples:
      lodestar explain run.jsonl
      lodestar explain run.jsonl -o run.png
    """
    from lodestar.scheduler import read_log

    if out is not None and out.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter(f"--out must end in .png or .svg, got {out.name!r}")
    record = read_log(log)
    if as_json:
        decisions = [decision.to_dict() for decision in record.decisions]
        _screen.show_json(
            {"job": record.header, "decisions": decisions, "warnings": record.warnings, "skipped_lines": record.skipped}
        )
    else:
        _show(record)
    if record.skipped:
        _screen.warn(f"{record.skipped} lines of {log} could not be read: the job was killed while writing")
    if out is not None:
        _draw(record, out)


def _show(log: "Log") -> None:
    """The table, the sentences behind its last column, and whatever else there is to say."""
    console = _screen.out()
    metric = str(log.header.get("metric", "metric"))[:16]
    rows = _screen.table(">step", ">loss", f">{metric}", ">accepted", ">final", ">80 % interval", ">next lr", "outcome")
    for column in rows.columns[:-1]:
        column.no_wrap = True
    for decision in log.decisions:
        rows.add_row(*_row(decision))
    console.print(rows)
    mode = "; shadow mode: none of it was followed" if log.header.get("mode") == "shadow" else ""
    total = log.header.get("total_steps")
    _screen.say(f"{len(log.decisions)} decisions over {total} steps{mode}", "bold")
    for outcome, count in Counter(decision.outcome for decision in log.decisions).most_common():
        _screen.say(f"  {count} x {_word(outcome)}: {outcome}")
    for decision in log.decisions:
        if decision.note:
            _screen.say(f"  after step {decision.step}: {decision.note}")
    for warning in log.warnings:
        _screen.warn(warning)


def _row(decision: "Decision") -> "list":
    low, high = decision.interval or (None, None)
    return [
        str(decision.step),
        _screen.number(decision.loss),
        _screen.number(decision.metric),
        f"{decision.accepted}/{decision.samples}" if decision.samples else "-",
        _screen.number(decision.predicted),
        "-" if low is None else f"{_screen.number(low, 2)}..{_screen.number(high, 2)}",
        _screen.number(decision.first_lr, 3),
        _screen.safe(_word(decision.outcome)),
    ]


def _word(outcome: "Outcome") -> str:
    return outcome.name.lower().replace("_", " ")


def _draw(log: "Log", out: Path) -> None:
    from lodestar import _disk
    from lodestar.report.draw import chart_panel
    from lodestar.report.ink import file_bytes
    from lodestar.report.sections.decisions import decision_charts
    from lodestar.report.sections.steered import SteeredRun

    charts = decision_charts(SteeredRun(out.stem, log, out.stem))
    _disk.write_whole(out, file_bytes(chart_panel("decisions", charts), out.suffix.lower().removeprefix(".")))
    _screen.err().print(_screen.safe(f"Figure: {out}"))
