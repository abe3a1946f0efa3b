"""`lodestar plan`: the best schedule for the next job, what speaks for it, and the code to follow it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lodestar.cli import _screen
from lodestar.cli.what_if import draw, show_outlooks

if TYPE_CHECKING:
    from lodestar.forecaster import Forecaster
    from lodestar.planning import SchedulePlan
    from lodestar.planning.compare import Outlook
    from lodestar.schedules import Schedule


def plan_command(
    model: Annotated[Path, Argument(metavar="FORECASTER", help="A forecaster file, from lodestar fit.")],
    steps: Annotated[int, Option(min=1, help="Optimizer steps of the job.")],
    out: Annotated[
        list[Path] | None,
        Option("--out", "-o", help="Write the plan to this .json or .csv, or draw it: .png, .svg, .html; repeatable."),
    ] = None,
    framework: Annotated[
        str | None, Option("--as", help="Print code to paste: torch, optax, keras or transformers.")
    ] = None,
    level: Annotated[float, Option(help="Share of runs the interval is meant to hold: 0.5, 0.8, 0.9 or 0.95.")] = 0.8,
    seed: Annotated[int, Option(help="Seed of the search; the same seed gives the same plan.")] = 0,
    as_json: Annotated[bool, Option("--json", help="Print the plan and its forecast as JSON.")] = False,
) -> None:
    """Plan the learning rate of the next job: the schedule that is forecast to end best.

    The search goes over a thousand schedules: plain families, what lies between them, and those of past runs. Each is
    judged by its forecast less the model's doubt, and the best dozen are averaged. Beside the plan stand the best plain
    family and the best past run's schedule, judged by the same model. With --as, the code for a job that has no
    Lodestar goes to stdout, everything else to stderr.

    \b
    Examples:
      lodestar plan forecaster.lodestar --steps 10000
      lodestar plan forecaster.lodestar --steps 10000 -o plan.csv -o plan.png
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
    forecaster = load(model)
    planned = plan(forecaster, steps, level=level, seed=seed)
    found, said = rivals(forecaster, planned), account(forecaster, planned)
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
