"""`lodestar tune`: the schedule of your training function, from nothing, within a budget of full runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.tuning import Round, TuneResult


def tune_command(
    function: Annotated[str | None, Argument(help="Your training function: module:name or path/file.py:name.")] = None,
    out: Annotated[str, Option("--out", "-o", metavar="STORE", help="The store to write to; made if missing.")] = "",
    budget: Annotated[
        float, Option(min=1, help="How much work, in full runs; stopped trials count for their part.")
    ] = 20,
    command: Annotated[str | None, Option(metavar="LINE", help="A shell command; see lodestar sweep --help.")] = None,
    steps: Annotated[int | None, Option(min=1, help="Updates in a run; default: the function's total_steps.")] = None,
    peak: Annotated[
        tuple[float, float] | None, Option(metavar="LOW HIGH", help="Lowest and highest peak rate; default 1e-4 0.1.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the trials.")] = 0,
    metric: Annotated[str, Option(metavar="NAME", help="What your metric is called.")] = "metric",
    direction: Annotated[str, Option(metavar="max|min", help="Which metric is better.")] = "max",
    task: Annotated[str | None, Option(metavar="NAME", help="The task's name, kept with each run.")] = None,
    jobs: Annotated[int | None, Option("--jobs", "-j", min=1, help="Trials at once; default: one a core.")] = None,
    threads: Annotated[int, Option(min=1, help="Threads (and cores) for each trial.")] = 1,
    trial_timeout: Annotated[
        str | None, Option(metavar="TIME", help="Stop and fail a trial that takes longer: 90s, 30m, 2h, 1h30m.")
    ] = None,
    on: Annotated[
        str, Option(metavar="local|ray|ray://HOST:PORT", help="Where trials run; on Ray, with --no-prune.")
    ] = "local",
    no_prune: Annotated[bool, Option("--no-prune", help="Let every trial run to its end.")] = False,
    updates: Annotated[int | None, Option(min=1, help="Most updates of the forecaster's fit at the end.")] = None,
    final: Annotated[bool, Option("--final", help="At the end, one more run that follows the plan.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Find a good schedule for your training function, without any past runs.

    The function is that of lodestar sweep. The first trials are spread evenly over warm-up, peak rate, plateau, decay
    and floor. From then on each trial is the schedule by which the best is expected to improve most, by a model fitted
    to all runs so far, and trials without a chance are stopped early. It ends when the budget is spent, or when nothing
    more is to be gained: with a plan, its forecast, and a forecaster file beside the store.

    Stopped or killed at any moment, the same command goes on. With a larger budget it goes further.

    \b
    Examples:
      lodestar tune my_module:train --budget 20 --out runs
      lodestar tune my_module:train --steps 2000 --budget 10 --out runs --peak 1e-4 1e-2 --final
    """
    from lodestar.cli._sweep_table import SweepTable
    from lodestar.tuning import tune

    if not out:
        raise typer.BadParameter("name the store to write to", param_hint="--out")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    with SweepTable(quiet=as_json) as table:
        result = tune(
            function,
            out=out,
            seed=seed,
            budget=budget,
            command=command,
            total_steps=steps,
            peak=peak,
            executor=on,
            jobs=jobs,
            threads=threads,
            trial_timeout=trial_timeout,
            metric_name=metric,
            direction=direction,
            task=task,
            prune=not no_prune,
            final=final,
            fit={} if updates is None else {"updates": updates},
            on_round=lambda now: table.say(round_line(now)),
            on_start=table.start,
            on_event=table.event,
        )
    if as_json:
        _screen.show_json(result.as_dict())
    else:
        _show(result, metric, out)


def round_line(now: "Round") -> str:
    """Spent, best so far, forecast of the best plan, expected gain of the next run."""
    parts = [f"{now.spent:.1f} of {now.budget:g} runs spent on {now.runs} trials"]
    if now.best is not None:
        parts.append(f"best {now.best[1]:.4g}")
    if now.prospect is not None:
        found = now.prospect
        parts.append(f"best schedule's forecast {found.final:.4g} ({found.lower:.4g} to {found.upper:.4g})")
        parts.append(f"expected gain of the next run {found.gain:.2g}")
    return ", ".join(parts)


def _show(result: "TuneResult", metric: str, out: str) -> None:
    why = "nothing more was to be gained" if result.ended_early else "the budget is spent"
    _screen.say(f"{result.spent:.1f} of {result.budget:g} runs spent on {result.runs} trials; {why}.", "bold")
    if result.best is not None:
        _screen.say(f"Best {metric} of a trial: {result.best[1]:.4g} ({result.best[0]})")
    if result.note:
        _screen.say(result.note, "yellow")
    if result.plan is not None:
        at_end = result.as_dict()["plan"]
        interval = f"{at_end['lower']:.4g} to {at_end['upper']:.4g}"
        _screen.say(f"Plan: {result.plan.words}. Forecast final {metric}: {at_end['final']:.4g} ({interval}).", "bold")
    if result.final is not None:
        _screen.say(f"The run that followed the plan: {result.final[1]:.4g} ({result.final[0]})")
    if result.forecaster is not None:
        _screen.say(f"Forecaster: {result.forecaster}. Next: lodestar plan {result.forecaster} --steps N --as torch")
