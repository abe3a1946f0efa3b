"""`lodestar report`: one HTML page on what happened: the sweep, the forecaster, every steered run and why."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar.cli import _screen
from lodestar.cli._source import RunSource, open_runs

if TYPE_CHECKING:
    from lodestar.report.sections import ReportPage
    from lodestar.runs.run import Run


def report_command(
    runs: Annotated[list[str], Argument(help="Stores of runs, or tables that could be imported, read as one.")],
    model: Annotated[Path | None, Option("--model", "-m", help="A forecaster file, to be tested and drawn.")] = None,
    log: Annotated[
        list[Path] | None,
        Option(
            "--log", "-l", metavar="DECISIONS", help="A decision log of a steered run, or a folder of them; repeatable."
        ),
    ] = None,
    out: Annotated[Path, Option("--out", "-o", metavar="PAGE", help="The file to write.")] = Path("report.html"),
    title: Annotated[str, Option(help="The page's title. Default: the task and the number of runs.")] = "",
    drawn: Annotated[int, Option(min=1, help="Draw the curves of no more runs than this.")] = 150,
    most: Annotated[int, Option(min=1, help="Test the forecaster on no more runs than this.")] = 60,
    skip_damaged: Annotated[bool, Option("--skip-damaged", help="Use what can be read of a damaged store.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print what is on the page as JSON.")] = False,
) -> None:
    """Write one HTML page on your runs: open it anywhere, send it to anyone.

    The page is one file that needs no network, reads well on a phone, and follows your light or dark theme. It shows
    the sweep at a glance (every curve, final metric against peak lr, the schedules), a comparison of groups, and what
    the doctor says. With --model: how good that forecaster is on runs it never saw. With --log: every decision of a
    steered run, what was forecast, which futures were accepted, the lr that was chosen, and why, in words. Name the
    store the steered runs were written to as well, and their curves stand beside their forecasts.

    \b
    Examples:
      lodestar report runs
      lodestar report runs --model forecaster.lodestar -o report.html
      lodestar report runs steered --model forecaster.lodestar --log decisions/
    """
    from lodestar.forecaster import load
    from lodestar.report.html import write_page
    from lodestar.report.sections import build_report, read_steered

    if out.is_dir():
        raise typer.BadParameter(
            f"must be a file such as {out / 'report.html'}, got the folder {out}", param_hint="--out"
        )
    source = _joined([_open(where, skip_damaged) for where in runs], runs)
    forecaster = None if model is None else load(model)
    steered = read_steered(log or [], _screen.warn)
    with _screen.progress("reading runs (%)", 100, quiet=as_json) as update:
        made = build_report(
            source,
            forecaster=forecaster,
            steered=steered,
            title=title,
            drawn=drawn,
            most=most,
            tick=lambda what, done, of: update(100 * done // (of or source.total or done), f"{what} (%)"),
        )
    path = write_page(out, made.title, made.sections, made.lead)
    _tell(made, path, as_json)


def _open(where: str, skip_damaged: bool) -> RunSource:
    """One source of runs; an empty one is an error here, not a blank page."""
    from lodestar._errors import RunError

    source = open_runs(where, skip_damaged=skip_damaged)
    if source.total == 0:
        raise RunError(f"the store {where} holds no runs. Fix: make some: lodestar sweep, lodestar import")
    return source


def _joined(sources: Sequence[RunSource], names: Sequence[str]) -> RunSource:
    """Several sources read one after the other; a run whose name was there before is named after its store too."""
    if len(sources) == 1:
        return sources[0]

    def start() -> "Iterator[Run]":
        seen: set[str] = set()
        for source, name in zip(sources, names, strict=True):
            for run in source:
                known = run if run.name not in seen else run.replace(name=f"{name}: {run.name}")
                seen.add(known.name)
                yield known

    totals = [source.total for source in sources]
    return RunSource(start, None if None in totals else sum(total or 0 for total in totals))


def _tell(made: "ReportPage", path: Path, as_json: bool) -> None:
    size = path.stat().st_size
    for note in made.notes:
        _screen.warn(note)
    if as_json:
        sections = [section.title for section in made.sections]
        facts = {"page": str(path.resolve()), "bytes": size, "title": made.title, "runs": made.runs}
        _screen.show_json({**facts, "sections": sections, "notes": list(made.notes)})
        return
    listed = ", ".join(section.title for section in made.sections)
    _screen.out().print(_screen.safe(f"Report: {path.resolve()} ({size / 1e6:.1f} MB)", "green"), soft_wrap=True)
    _screen.say(f"On it: {listed}. Open it in a browser; it needs no network.", "dim")
