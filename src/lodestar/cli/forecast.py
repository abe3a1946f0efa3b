"""`lodestar forecast`: forecast a run from the part of it that was seen."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar._errors import RunError
from lodestar.cli import _screen
from lodestar.cli._schedules import followed, read_schedules
from lodestar.cli._source import RunSource, open_runs

if TYPE_CHECKING:
    from lodestar.forecaster import Forecast, Forecaster
    from lodestar.forecaster.preprocessing import Points
    from lodestar.runs.run import Run
    from lodestar.schedules import Schedule

UNKNOWN = "unknown"
_ROWS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def forecast_command(
    model: Annotated[Path, Argument(help="A forecaster file, from lodestar fit.")],
    runs: Annotated[str, Argument(help="A store of runs, or a table that could be imported.")],
    name: Annotated[str | None, Option("--run", help="Which run; may be left out if there is one.")] = None,
    seen: Annotated[
        float, Option(min=0.0, max=1.0, help="How much of the run to show the forecaster; 0 takes a known schedule.")
    ] = 1.0,
    schedule: Annotated[
        str | None,
        Option(help="The schedule it follows to its end, as in what-if; 'unknown': forecast it too. Default: its own."),
    ] = None,
    total_steps: Annotated[int | None, Option(min=1, help="Planned length of a run still going or cut short.")] = None,
    level: Annotated[float, Option(help="Share of runs the intervals are meant to hold: 0.5, 0.8, 0.9 or 0.95.")] = 0.8,
    out: Annotated[Path | None, Option("--out", "-o", help="Draw it into this .png or .svg as well.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print every point as JSON.")] = False,
) -> None:
    """Forecast a whole run from the part of it that was seen.

    The forecaster is shown the first part of the run (--seen: all of it by default) and forecasts loss and metric up to
    the last step. There are two kinds of forecast, and it says which this one is. Where the schedule is known, the
    forecast follows it: one that was logged to the end, that the run's config states, or that you give (--schedule).
    Where it is not, the learning rate is forecast too. The interval is meant to hold the truth for --level of such
    runs. Where the run went on, what really happened stands beside the forecast.

    \b
    Examples:
      lodestar forecast forecaster.lodestar runs --run run-007 --seen 0.05 -o run-007.png
      lodestar forecast forecaster.lodestar live.csv --total-steps 10000 --schedule cosine:3e-3
      lodestar forecast forecaster.lodestar runs --run run-007 --seen 0.4 --schedule unknown
    """
    from lodestar.forecaster import load
    from lodestar.forecaster.at_scale import for_run
    from lodestar.forecaster.intervals import LEVELS
    from lodestar.planning.compare import beyond

    if level not in LEVELS:
        raise typer.BadParameter(f"--level must be one of {', '.join(map(str, LEVELS))}, got {level}")
    if out is not None and out.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter(f"--out must end in .png or .svg, got {out.name!r}")
    forecaster = load(model)
    run = pick(open_runs(runs), name)
    if total_steps is not None:
        run = run.replace(total_steps=total_steps)
    same_direction(run, forecaster)
    forecaster = for_run(forecaster, run)
    known, how = _schedule(forecaster, run, schedule, runs)
    forecast = _forecast(forecaster, run, seen, known, level)
    truth = forecaster.recipe.to_points(run.loss, run.metric, run.lr, run.total_steps)
    extrapolation = "" if known is None else beyond(forecaster, known.rates)
    if as_json:
        about = {"known": known is not None, "how": how, "extrapolation": extrapolation or None}
        fit = {"runs": forecaster.facts.get("runs"), "held_out_runs": _held_out(forecaster, known is not None)}
        told = {"run": run.name, "total_steps": run.total_steps, "schedule": about, **forecast.to_dict()}
        _screen.show_json({**told, "forecaster": fit})
    else:
        _show(forecaster, run, forecast, truth, known is not None, how)
        if extrapolation:
            _screen.say(f"Mind: {extrapolation}. Trust it less.", "yellow")
    if out is not None:
        _draw(forecaster, run, forecast, truth, out)


def _schedule(forecaster: "Forecaster", run: "Run", given: str | None, runs: str) -> "tuple[Schedule | None, str]":
    """The schedule to the end of the run and how it is known; or None, and why nobody knows it."""
    if given == UNKNOWN:
        return None, "as asked for"
    if given is not None:
        from lodestar.forecaster.known_schedules import response_of

        response_of(forecaster)  # says so at once where it cannot
        done = int(run.lr.steps[-1]) if len(run.lr) else 0
        try:
            return read_schedules([given], run.total_steps, open_runs(runs), done)[given], f"as given: {given}"
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--schedule") from None
    if forecaster.response is None:
        return None, "this forecaster does not know schedules; one fitted again with this version does"
    return followed(run)


def _forecast(
    forecaster: "Forecaster", run: "Run", seen: float, schedule: "Schedule | None", level: float
) -> "Forecast":
    from lodestar.forecaster.known_schedules import what_if

    if schedule is None:
        if seen == 0.0:
            raise typer.BadParameter("from nothing, only a known schedule can be forecast", param_hint="--seen")
        return forecaster.forecast(forecaster.context_of(run, seen), level)
    return what_if(forecaster, schedule.rates, forecaster.context_of(run, seen) if seen else None, level)


def _held_out(forecaster: "Forecaster", known: bool) -> int:
    """On how many runs that it had not seen the intervals were measured."""
    return int(forecaster.quality.get("response_runs" if known else "held_out_runs", 0))


def _draw(forecaster: "Forecaster", run: "Run", forecast: "Forecast", truth: "Points", out: Path) -> None:
    import dataclasses

    from lodestar import _disk
    from lodestar.report.draw import chart_panel
    from lodestar.report.ink import file_bytes
    from lodestar.report.sections.examples import forecast_charts

    plain = dataclasses.replace(forecaster.recipe, smoothing=0.0)
    raw = plain.to_points(run.loss, run.metric, run.lr, run.total_steps)
    charts = forecast_charts(forecast, raw, truth, run.total_steps, run.metric_name)
    _disk.write_whole(out, file_bytes(chart_panel("forecast", charts), out.suffix.lower().removeprefix(".")))
    _screen.err().print(_screen.safe(f"Figure: {out}"))


def same_direction(run: "Run", forecaster: "Forecaster") -> None:
    """A run whose metric goes the other way cannot be forecast."""
    if run.direction is not forecaster.direction:
        raise RunError(
            f"run {run.name!r}: its metric is to be {run.direction}imised, the forecaster's is to be "
            f"{forecaster.direction}imised. Fix: use a forecaster fitted to this metric"
        )


def pick(source: RunSource, name: str | None) -> "Run":
    """The run of that name; the only one, where there is one."""
    known: list[str] = []
    only: Run | None = None
    for run in source:
        if run.name == name:
            return run
        known.append(run.name)
        only = run
    if name is None and len(known) == 1 and only is not None:
        return only
    some = ", ".join(n[:40] for n in known[:5]) + (", ..." if len(known) > 5 else "")
    asked = "there are several runs" if name is None else f"there is no run {name!r}"
    raise RunError(f"{asked} among these {len(known)} ({some or 'none'}). Fix: name one with --run")


def _show(forecaster: "Forecaster", run: "Run", forecast: "Forecast", truth: "Points", known: bool, how: str) -> None:
    import numpy as np

    from lodestar.runs.few import caveat

    console = _screen.out()
    share = forecast.seen[1] / forecaster.points
    _screen.say(f"{run.name}: the whole run from its first {share:.0%}", "bold")
    _screen.say(f"Schedule {'known' if known else 'unknown, so it is forecast too'}: {how}.")
    metric = str(forecaster.facts.get("metric_name", "metric"))
    heads = (">step", ">loss", ">true", ">metric", f">{forecast.level:.0%} interval", ">true", ">lr")
    found = _screen.table(*heads, *([] if known else [">true"]))
    found.columns[3].header = _screen.safe(metric, limit=9)
    steps = forecast.steps(run.total_steps)
    for fraction in _ROWS:
        i = max(0, round(fraction * forecaster.points) - 1)
        real = [float(v) if m else np.nan for v, m in zip(truth.values[i], truth.mask[i], strict=True)]
        cells = [
            str(steps[i]),
            _screen.number(float(forecast.loss.centre[i]), 3),
            _screen.number(real[0], 3),
            _screen.number(float(forecast.metric.centre[i])),
            f"{forecast.metric.lower[i]:.4g}..{forecast.metric.upper[i]:.4g}",
            _screen.number(real[1]),
            _screen.number(float(forecast.lr.centre[i]), 2),
        ]
        found.add_row(*cells, *([] if known else [_screen.number(real[2], 2)]))
    console.print(found)
    centre, lower, upper = forecast.final_metric
    seen = int(truth.mask[: forecast.seen[1], :2].any(axis=1).sum())
    fitted, held_out = forecaster.facts.get("runs", "?"), _held_out(forecaster, known)
    _screen.say(f"Final {metric}: {centre:.4g}, {forecast.level:.0%} interval {lower:.4g} to {upper:.4g}")
    _screen.say(
        f"From {seen} of {forecaster.points} points of this run; fitted to {fitted} runs, intervals from {held_out} "
        "held out.",
        "dim",
    )
    told = caveat(held_out, "the interval")
    if told:
        _screen.warn(told)
