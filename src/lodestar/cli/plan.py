"""`lodestar plan`: the best schedule for the next job, what speaks for it, and the code to follow it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lodestar.cli import _screen
from lodestar.cli._scale import Batch, Size, at_job, stated
from lodestar.cli.what_if import draw, show_outlooks

if TYPE_CHECKING:
    from lodestar.forecaster import Forecaster
    from lodestar.planning import SchedulePlan
    from lodestar.planning.compare import Outlook
    from lodestar.schedules import Schedule


def plan_command(
    model: Annotated[Path, Argument(metavar="FORECASTER", help="A forecaster file, from lodestar fit.")],
    steps: Annotated[int, Option(min=1, help="Optimizer steps of the job.")],
    size: Size = None,
    batch: Batch = None,
    out: Annotated[
        list[Path] | None,
        Option("--out", "-o", help="Write the plan to this .json or .csv, or draw it: .png, .svg, .html; repeatable."),
    ] = None,
    rates: Annotated[
        Path | None,
        Option(
            "--over-rates", help="Draw how the best rate moves with size, and where the job lies: .png, .svg, .html."
        ),
    ] = None,
    framework: Annotated[
        str | None, Option("--as", help="Print code to paste: torch, optax, keras or transformers.")
    ] = None,
    level: Annotated[float, Option(help="Share of runs the interval is meant to hold: 0.5, 0.8, 0.9 or 0.95.")] = 0.8,
    seed: Annotated[int, Option(help="Seed of the search; the same seed gives the same plan.")] = 0,
    as_json: Annotated[bool, Option("--json", help="Print the plan and its forecast as JSON.")] = False,
) -> None:
    """Plan the learning rate of the next job: the schedule that is forecast to end best.

    The search goes over a thousand schedules: plain families and what lies between them. Each is judged by its forecast
    less the model's doubt, and the best two dozen are averaged. Beside the plan stand the best plain family and the
    best past run's schedule, judged by the same model. With --as, the code for a job that has no Lodestar goes to
    stdout, everything else to stderr.

    Where past runs differ in size, batch or length, the plan is for the job's own: the law that these runs follow says
    how the best rate moves (--size, --batch, --steps). The plan leans low as far as that is unsure.

    \b
    Examples:
      lodestar plan forecaster.lodestar --steps 10000
      lodestar plan forecaster.lodestar --steps 10000 -o plan.csv -o plan.png
      lodestar plan small.lodestar --steps 10000 --size 1024 --batch 256
      lodestar plan small.lodestar --steps 10000 --size 1024 --over-rates rates.png
      lodestar plan forecaster.lodestar --steps 10000 --as torch > planned_lr.py
    """
    from lodestar.forecaster import load
    from lodestar.forecaster.intervals import LEVELS
    from lodestar.planning import plan
    from lodestar.planning.account import PLAN, account, rivals
    from lodestar.schedules.paste import FRAMEWORKS, code

    if level not in LEVELS:
        raise typer.BadParameter(f"--level must be one of {', '.join(map(str, LEVELS))}, got {level}")
    if framework is not None and framework not in FRAMEWORKS:
        raise typer.BadParameter(f"must be one of {', '.join(FRAMEWORKS)}, got {framework!r}", param_hint="--as")
    _check_files(out or [])
    loaded = load(model)
    _check_rates(loaded, rates)
    forecaster, scaled = at_job(loaded, steps, size, batch)
    planned = plan(forecaster, steps, level=level, seed=seed)
    found, said = rivals(forecaster, planned), [*scaled, *account(forecaster, planned)]
    ours, outlooks = found[PLAN], list(found.values())
    headline = _headline(forecaster, planned, ours)
    pasted = framework and code(planned.schedule, framework, [headline, *said])
    if as_json:
        _screen.show_json({**_plain(forecaster, planned, ours), **_notes(outlooks, said), "code": pasted})
    elif pasted:
        typer.echo(pasted, nl=False)
        _screen.err().print(_screen.safe(headline), soft_wrap=True)
    else:
        _screen.say(headline, "bold")
        show_outlooks(outlooks)
        for sentence in said:
            _screen.say(sentence)
    for path in out or []:
        if path.suffix.lower() in (".json", ".csv"):
            _write(path, planned.schedule)
        else:
            draw(path, outlooks, _metric(forecaster), headline, said)
    if rates is not None:
        _draw_rates(rates, loaded, stated(loaded, steps, size, batch), scaled)


def _check_rates(forecaster: "Forecaster", path: Path | None) -> None:
    from lodestar.planning.over_rates import moving
    from lodestar.report.outlooks import SUFFIXES

    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"must end in {', '.join(SUFFIXES)}, got {path.name!r}", param_hint="--over-rates")
    if forecaster.response is None or forecaster.law is None or moving(forecaster.law) is None:
        raise typer.BadParameter(
            "there is nothing to draw: the forecaster's runs differ in neither size, batch nor length. "
            "Fix: lodestar sweep --sizes, or import runs of several sizes, and fit again",
            param_hint="--over-rates",
        )


def _draw_rates(path: Path, forecaster: "Forecaster", job: dict[str, float | None], notes: list[str]) -> None:
    from lodestar.planning.over_rates import over_rates
    from lodestar.report.over_rates import draw_rates

    found = over_rates(forecaster, job)
    assert found is not None, "checked before"
    draw_rates(path, found, _metric(forecaster), "How the best learning rate moves", notes)
    _screen.err().print(_screen.safe(f"Picture: {path}"))


def _check_files(out: list[Path]) -> None:
    from lodestar.report.outlooks import SUFFIXES

    allowed = (".json", ".csv", *SUFFIXES)
    for path in out:
        if path.suffix.lower() not in allowed:
            raise typer.BadParameter(f"--out must end in {', '.join(allowed)}, got {path.name!r}")


def _metric(forecaster: "Forecaster") -> str:
    return str(forecaster.facts.get("metric_name", "metric"))


def _headline(forecaster: "Forecaster", planned: "SchedulePlan", ours: "Outlook") -> str:
    return (
        f"Plan for {len(planned.schedule)} steps, {planned.words}. Forecast final {_metric(forecaster)}: "
        f"{ours.final:.4g}, {planned.forecast.level:.0%} interval {ours.lower:.4g} to {ours.upper:.4g}."
    )


def _plain(forecaster: "Forecaster", planned: "SchedulePlan", ours: "Outlook") -> dict[str, Any]:
    from lodestar.planning.account import tried_peaks

    schedule = planned.schedule
    return {
        "metric": _metric(forecaster),
        "direction": str(forecaster.direction),
        "total_steps": len(schedule),
        "words": planned.words,
        **{name: getattr(ours, name) for name in ("final", "lower", "upper", "doubt")},
        "level": planned.forecast.level,
        "peak_lr": schedule.peak,
        "as_good_peaks": list(tried_peaks(forecaster, planned)),
        "luck": planned.luck,
        "extrapolates": bool(ours.beyond),
        "knots": list(map(float, schedule.knots)),
        "lr": list(map(float, schedule.lr)),
        "runs": forecaster.facts.get("runs"),
        "scale_law": forecaster.law and forecaster.law.to_dict(),
        "rates_times": 1.0 / forecaster.rate_factor,
        "quality": {name: value for name, value in forecaster.quality.items() if name.startswith("response_")},
    }


def _notes(outlooks: "list[Outlook]", said: list[str]) -> dict[str, Any]:
    return {"compared": [outlook.to_dict() for outlook in outlooks], "notes": said}


def _write(path: Path, schedule: "Schedule") -> None:
    from lodestar import _disk
    from lodestar._errors import StoreError

    try:
        (schedule.to_json if path.suffix.lower() == ".json" else schedule.to_csv)(path)
    except OSError as error:
        raise StoreError(_disk.cannot_write(path.parent, error)) from error
    _screen.err().print(_screen.safe(f"Plan: {path}"))
