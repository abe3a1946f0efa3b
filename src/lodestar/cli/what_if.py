"""`lodestar what-if`: what each of some schedules would give, before a run or from where it stands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar._errors import RunError
from lodestar.cli import _screen
from lodestar.cli._scale import Batch, Size, at_job
from lodestar.cli._schedules import known_to_the_end, read_schedules, schedule_of
from lodestar.cli._source import open_runs
from lodestar.cli.forecast import pick, same_direction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lodestar.forecaster import Context, Forecaster
    from lodestar.planning.compare import Outlook
    from lodestar.runs.run import Run
    from lodestar.schedules import Schedule


def what_if_command(
    model: Annotated[Path, Argument(metavar="FORECASTER", help="A forecaster file, from lodestar fit.")],
    schedule: Annotated[
        list[str] | None,
        Option(help="family:peak[:parameter=value], a CSV or JSON file, file.py:function, or a past run; repeatable."),
    ] = None,
    steps: Annotated[int | None, Option(min=1, help="Optimizer steps of the job; with --run: the run's own.")] = None,
    size: Size = None,
    batch: Batch = None,
    runs: Annotated[str | None, Option(help="A store of runs, or a table, for --run and past runs' names.")] = None,
    name: Annotated[str | None, Option("--run", help="Continue this run under each schedule.")] = None,
    seen: Annotated[float, Option(min=0.001, max=1.0, help="How much of that run lies behind.")] = 1.0,
    level: Annotated[float, Option(help="Share of runs the intervals are meant to hold: 0.5, 0.8, 0.9 or 0.95.")] = 0.8,
    out: Annotated[Path | None, Option("--out", "-o", help="Draw it into this .png, .svg or .html as well.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print every schedule, with its curves, as JSON.")] = False,
) -> None:
    """Say what each of some schedules would give: the final metric with its interval, best first.

    A schedule is words (linear:3e-3:warmup=0.05), a file of step and lr (CSV, or JSON from a plan), the name of a past
    run of --runs, or a function of the step, counted from 1 (my_file.py:function or module:function). It spans the
    whole job. With --run it applies from now on: what the run did so far stays, and its own schedule is compared too
    where it is known. The doubt is how unsure the model is of a forecast, beside the luck of a single run. A peak rate
    that no past run has tried is forecast, and marked as extrapolation.

    \b
    Examples:
      lodestar what-if forecaster.lodestar --steps 10000 --schedule linear:3e-3 --schedule wsd:1e-3:decay=0.2
      lodestar what-if forecaster.lodestar --steps 10000 --schedule plan.csv --schedule my_rates.py:rate -o together.png
      lodestar what-if forecaster.lodestar --runs runs --run run-007 --seen 0.4 --schedule cosine:1e-3
    """
    from lodestar.forecaster import load
    from lodestar.forecaster.intervals import LEVELS
    from lodestar.forecaster.known_schedules import response_of
    from lodestar.planning.compare import compare

    if level not in LEVELS:
        raise typer.BadParameter(f"--level must be one of {', '.join(map(str, LEVELS))}, got {level}")
    check_drawing(out)
    forecaster = load(model)
    response_of(forecaster)  # says so at once where it cannot
    forecaster, run, scaled = _turned(forecaster, runs, name, steps, size, batch)
    context = _context(forecaster, run, seen)
    total = steps if run is None else run.total_steps
    if total is None:
        raise typer.BadParameter("say how many optimizer steps the job has", param_hint="--steps")
    try:
        schedules = _schedules(forecaster, schedule or [], total, runs, run, context)
        outlooks = compare(forecaster, schedules, context, level=level)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--schedule") from None
    notes = [*scaled, *_notes(forecaster, outlooks, run, total)]
    metric = str(forecaster.facts.get("metric_name", "metric"))
    if as_json:
        curves = [{**outlook.to_dict(), "forecast": outlook.forecast.to_dict()} for outlook in outlooks]
        facts = {"metric": metric, "direction": str(forecaster.direction), "total_steps": total, "level": level}
        _screen.show_json({**facts, "run": run and run.name, "schedules": curves, "notes": notes})
    else:
        _screen.say(_title(forecaster, run, context, total, metric), "bold")
        show_outlooks(outlooks)
        for note in notes:
            _screen.say(note)
    if out is not None:
        draw(out, outlooks, metric, _title(forecaster, run, context, total, metric), notes)


def check_drawing(out: Path | None) -> None:
    """A drawing can have three kinds of name."""
    from lodestar.report.outlooks import SUFFIXES

    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"--out must end in {', '.join(SUFFIXES)}, got {out.name!r}")


def show_outlooks(outlooks: "Sequence[Outlook]") -> None:
    """The table, and beneath it where a schedule extrapolates."""
    interval = f">{outlooks[0].forecast.level:.0%} interval"
    rows = _screen.table("schedule", ">peak lr", ">final", interval, ">doubt", "")
    for column in rows.columns[1:]:
        column.no_wrap = True
    for outlook in outlooks:
        rows.add_row(
            _screen.safe(outlook.name, limit=60),
            _screen.number(outlook.schedule.peak, 3),
            _screen.number(outlook.final),
            f"{outlook.lower:.4g} to {outlook.upper:.4g}",
            _screen.number(outlook.doubt, 2),
            _screen.safe("extrapolation" if outlook.beyond else "", "yellow"),
        )
    _screen.out().print(rows)
    for outlook in outlooks:
        if outlook.beyond:
            _screen.say(f"{_screen.safe(outlook.name, limit=60).plain}: {outlook.beyond}. Trust it less.", "yellow")


def draw(out: Path, outlooks: "Sequence[Outlook]", metric: str, title: str, notes: "Sequence[str]") -> None:
    from lodestar.report.outlooks import draw_outlooks

    draw_outlooks(out, outlooks, metric, title, notes)
    _screen.err().print(_screen.safe(f"Figure: {out}"))


def _turned(
    forecaster: "Forecaster",
    runs: str | None,
    name: str | None,
    steps: int | None,
    size: float | None,
    batch: float | None,
) -> "tuple[Forecaster, Run | None, list[str]]":
    """The forecaster turned to the job, the run to continue, if any, and what is to be said of the job's scale."""
    if name is None:
        turned, said = at_job(forecaster, steps, size, batch)
        return turned, None, said
    if runs is None:
        raise typer.BadParameter("name the store that holds the run", param_hint="--runs")
    run = pick(open_runs(runs), name)
    if steps is not None:
        run = run.replace(total_steps=steps)
    same_direction(run, forecaster)
    if size is None and batch is None:
        from lodestar.forecaster.at_scale import for_run

        return for_run(forecaster, run), run, []
    turned, said = at_job(forecaster, run.total_steps, size, batch)
    return turned, run, said


def _context(forecaster: "Forecaster", run: "Run | None", seen: float) -> "Context | None":
    """What was seen of the run to continue."""
    if run is None:
        return None
    context = forecaster.context_of(run, seen)
    if context.stop >= forecaster.points:
        raise RunError(f"run {run.name!r} is over: no step is left to choose a rate for. Fix: --seen 0.4, say")
    return context


def _schedules(
    forecaster: "Forecaster",
    given: list[str],
    total: int,
    runs: str | None,
    run: "Run | None",
    context: "Context | None",
) -> "dict[str, Schedule]":
    if not given and run is None:
        raise ValueError("name at least one, such as linear:3e-3")
    done = 0 if context is None else context.stop * total // forecaster.points
    found = read_schedules(given, total, None if runs is None else open_runs(runs), done)
    if run is not None and known_to_the_end(run):
        found[f"{run.name} (as it was)"] = schedule_of(run, total)
    if not found:
        raise ValueError("the run's own schedule is not known to its end. Fix: name at least one, such as linear:3e-3")
    return found


def _title(forecaster: "Forecaster", run: "Run | None", context: "Context | None", total: int, metric: str) -> str:
    if run is None or context is None:
        return f"A job of {total} steps: final {metric} by schedule"
    share = context.stop / forecaster.points
    return f"{run.name}, {total} steps, from {share:.0%} of them on: final {metric} by schedule"


def _notes(forecaster: "Forecaster", outlooks: "Sequence[Outlook]", run: "Run | None", total: int) -> list[str]:
    from lodestar.planning.compare import other_length

    notes = [f"Mind: {said}." for said in [other_length(forecaster, total)] if said]
    within = [outlook for outlook in outlooks if not outlook.beyond]
    if outlooks[0].beyond and within:
        notes.append(f"The best within what past runs have tried: {within[0].name}.")
    if len(within) > 1:
        first, second = within[:2]
        apart, unsure = abs(first.final - second.final), (first.doubt**2 + second.doubt**2) ** 0.5
        word = "no more than" if apart <= unsure else "more than"
        both = f"{first.name} and {second.name} lie {apart:.2g} apart"
        notes.append(f"{both}, {word} the model's doubt about the two ({unsure:.2g}).")
    if run is not None and len(run.metric) and known_to_the_end(run):
        notes.append(f"{run.name} really ended at {run.metric.values[-1]:.4g}.")
    return notes
