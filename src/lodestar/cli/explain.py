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
    job: Annotated[int | None, Option(help="Of several jobs in the file this one, from 1. Default: the last.")] = None,
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
    record = read_log(log, job)
    if out is not None:
        _draw(record, out)
    if as_json:
        decisions = [decision.to_dict() for decision in record.decisions]
        _screen.show_json(
            {
                "job": record.header,
                "summary": record.summary,
                "decisions": decisions,
                "warnings": record.warnings,
                "skipped_lines": record.skipped,
            }
        )
    else:
        _show(record)
    if record.skipped:
        _screen.warn(f"{_lines(record.skipped)} of {log} could not be read: cut short by a kill, or changed since")
    if not record.header:
        _screen.warn(f"{log} has lost its first line: the run's name, length and metric are not known")
    if record.jobs > 1:
        _screen.warn(f"{log} holds {record.jobs} jobs, this is {_which(job, record.jobs)}. Fix: --job N shows another")


def _show(log: "Log") -> None:
    """The table, the sentences behind its last column, and whatever else there is to say."""
    rows = _screen.table(">step", ">loss", ">metric", ">accepted", ">final", ">80 % interval", ">next lr", "outcome")
    rows.columns[2].header = _screen.safe(log.header.get("metric", "metric"), limit=16)
    shown = _digits(log)
    for decision in log.decisions:
        rows.add_row(*_row(decision, shown))
    _screen.show_table(rows)
    mode = "; shadow mode: none of it was followed" if log.header.get("mode") == "shadow" else ""
    total = log.header.get("total_steps")
    length = "" if total is None else f" over {total} steps"
    _screen.say(f"{len(log.decisions)} decisions{length}{mode}", "bold")
    _screen.say(f"  {log.summary or 'no last line: under way, killed, or never closed'}")
    for outcome, count in Counter(decision.outcome for decision in log.decisions).most_common():
        _screen.say(f"  {count} x {_word(outcome)}: {outcome}")
    for decision in log.decisions:
        if decision.note:
            _screen.say(f"  after step {decision.step}: {decision.note}")
    for warning in log.warnings:
        _screen.warn(warning)


def _digits(log: "Log") -> int:
    """As many as tell a typical decision's forecasts from one another."""
    import statistics

    from lodestar.runs.digits import LEAST, digits

    needed = [digits((d.predicted, d.plan_forecast, d.forecast, *(d.interval or ()))) for d in log.decisions]
    return statistics.median_high(needed or [LEAST])


def _row(decision: "Decision", digits: int) -> "list":
    low, high = decision.interval or (None, None)
    return [
        str(decision.step),
        _screen.number(decision.loss),
        _screen.number(decision.metric),
        f"{decision.accepted}/{decision.samples}" if decision.samples else "-",
        _screen.number(decision.predicted, digits),
        "-" if low is None else f"{_screen.number(low, digits)}..{_screen.number(high, digits)}",
        _screen.number(decision.first_lr, 3),
        _screen.safe(_word(decision.outcome)),
    ]


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _which(job: int | None, jobs: int) -> str:
    return "the last" if job in (None, jobs) else f"number {job}"


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
