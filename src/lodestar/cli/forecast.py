"""`lodestar forecast`: forecast a run from the part of it that was seen."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar._errors import RunError
from lodestar.cli import _screen
from lodestar.cli._source import RunSource, open_runs

if TYPE_CHECKING:
    from lodestar.forecaster import Forecast, Forecaster
    from lodestar.forecaster.preprocessing import Points
    from lodestar.runs.run import Run

_ROWS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def forecast_command(
    model: Annotated[Path, Argument(help="A forecaster file, from lodestar fit.")],
    runs: Annotated[str, Argument(help="A store of runs, or a table that could be imported.")],
    name: Annotated[str | None, Option("--run", help="Which run; may be left out if there is one.")] = None,
    seen: Annotated[float, Option(min=0.001, max=1.0, help="How much of the run to show the forecaster.")] = 1.0,
    total_steps: Annotated[int | None, Option(min=1, help="Planned length of a run still going or cut short.")] = None,
    level: Annotated[float, Option(help="Share of runs the intervals are meant to hold: 0.5, 0.8, 0.9 or 0.95.")] = 0.8,
    out: Annotated[Path | None, Option("--out", "-o", help="Draw it into this .png or .svg as well.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print every point as JSON.")] = False,
) -> None:
    """Forecast a whole run from the part of it that was seen.

    The forecaster is shown the first part of the run (--seen: all of it by default) and forecasts loss, metric and
    learning rate up to the last step. The interval is meant to hold the truth for --level of such runs. Where the run
    went on, what really happened stands beside the forecast.

    \b
    Examples:
      lodestar forecast forecaster.lodestar runs --run run-007 --seen 0.05 -o run-007.png
      lodestar forecast forecaster.lodestar live.csv --total-steps 10000
    """
    from lodestar.forecaster import load
    from lodestar.forecaster.intervals import LEVELS

    if level not in LEVELS:
        raise typer.BadParameter(f"--level must be one of {', '.join(map(str, LEVELS))}, got {level}")
    if out is not None and out.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter(f"--out must end in .png or .svg, got {out.name!r}")
    forecaster = load(model)
    run = pick(open_runs(runs), name)
    if total_steps is not None:
        run = run.replace(total_steps=total_steps)
    same_direction(run, forecaster)
    forecast = forecaster.forecast(forecaster.context_of(run, seen), level)
    truth = forecaster.recipe.to_points(run.loss, run.metric, run.lr, run.total_steps)
    known = {"runs": forecaster.facts.get("runs"), "held_out_runs": forecaster.quality.get("held_out_runs", 0)}
    if as_json:
        told = {"run": run.name, "total_steps": run.total_steps, **forecast.to_dict(), "forecaster": known}
        _screen.show_json(told)
    else:
        _show(forecaster, run, forecast, truth)
    if out is not None:
        _draw(forecaster, run, forecast, truth, out)


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


def _show(forecaster: "Forecaster", run: "Run", forecast: "Forecast", truth: "Points") -> None:
    import numpy as np

    from lodestar.runs.few import caveat

    console = _screen.out()
    share = forecast.seen[1] / forecaster.points
    _screen.say(f"{run.name}: the whole run from its first {share:.0%}", "bold")
    metric = str(forecaster.facts.get("metric_name", "metric"))
    found = _screen.table(
        ">step", ">loss", ">true", f">{metric}", f">{forecast.level:.0%} interval", ">true", ">lr", ">true"
    )
    steps = forecast.steps(run.total_steps)
    for fraction in _ROWS:
        i = max(0, round(fraction * forecaster.points) - 1)
        real = [float(v) if m else np.nan for v, m in zip(truth.values[i], truth.mask[i], strict=True)]
        found.add_row(
            str(steps[i]),
            _screen.number(float(forecast.loss.centre[i])),
            _screen.number(real[0]),
            _screen.number(float(forecast.metric.centre[i])),
            f"{forecast.metric.lower[i]:.4g} to {forecast.metric.upper[i]:.4g}",
            _screen.number(real[1]),
            _screen.number(float(forecast.lr.centre[i]), 3),
            _screen.number(real[2], 3),
        )
    console.print(found)
    centre, lower, upper = forecast.final_metric
    seen = int(truth.mask[: forecast.seen[1], :2].any(axis=1).sum())
    fitted, held_out = forecaster.facts.get("runs", "?"), int(forecaster.quality.get("held_out_runs", 0))
    _screen.say(f"Final {metric}: {centre:.4g}, {forecast.level:.0%} interval {lower:.4g} to {upper:.4g}")
    _screen.say(
        f"From {seen} of {forecaster.points} points of this run; fitted to {fitted} runs, intervals from {held_out} "
        "held out.",
        "dim",
    )
    told = caveat(held_out, "the interval")
    if told:
        _screen.warn(told)
