"""`lodestar tune`: the schedule of your training function, from nothing, within a budget of full runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lodestar.cli import _screen

if TYPE_CHECKING:
    from rich.table import Table

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
    space: Annotated[
        str, Option(metavar="sobol|averaged", help="averaged: your job averages its weights, so rates may stay high.")
    ] = "sobol",
    sizes: Annotated[
        str | None,
        Option(
            metavar="N,N,...", help="Also learn from smaller sizes; your function gets size, the largest is the job."
        ),
    ] = None,
    size: Annotated[
        float | None,
        Option(metavar="N", help="The job's size, beyond all --sizes: it is never run, and the plan is for it."),
    ] = None,
    runs: Annotated[int | None, Option(min=1, help="Most trials, whatever the budget.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the trials.")] = 0,
    metric: Annotated[str, Option(metavar="NAME", help="What your metric is called.")] = "metric",
    direction: Annotated[str, Option(metavar="max|min", help="Which metric is better.")] = "max",
    task: Annotated[str | None, Option(metavar="NAME", help="The task's name, kept with each run.")] = None,
    jobs: Annotated[int | None, Option("--jobs", "-j", min=1, help="Trials at once; default: one a core.")] = None,
    threads: Annotated[int, Option(min=1, help="Threads (and cores) for each trial.")] = 1,
    trial_timeout: Annotated[
        str | None, Option(metavar="TIME", help="Stop and fail a trial that takes longer: 90s, 30m, 2h, 1h30m.")
    ] = None,
    on: Annotated[str, Option(metavar="local|ray|ray://HOST:PORT", help="Where trials run.")] = "local",
    no_prune: Annotated[bool, Option("--no-prune", help="Let every trial run to its end.")] = False,
    spend_all: Annotated[
        bool, Option("--spend-all", help="Do not end before the budget is spent, even where little is to be gained.")
    ] = False,
    updates: Annotated[int | None, Option(min=1, help="Most updates of the forecaster's fit at the end.")] = None,
    final: Annotated[
        bool, Option("--final", help="At the end, one more run, steered by the forecaster that was fitted.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Find a good schedule for your training function, without any past runs.

    The function is that of lodestar sweep: train(*, schedule, seed, total_steps, report). The first trial is the middle
    of all that may be tried, two more are spread evenly over warm-up, peak rate, plateau, decay and floor. From then on
    each trial is the schedule by which the best is expected to improve most, by a model fitted to all runs so far.
    Once eight have finished, trials without a chance are stopped early (--no-prune lets them run on). It ends when the
    budget is spent, or sooner, when two rounds in a row expect less than a quarter of what luck does to a run. What
    comes out: a schedule with its forecast, a rate for each update (runs.plan.json), and a forecaster (runs.lodestar),
    both beside the store, or here if that is elsewhere.

    While it runs, a table shows what is spent, the best so far, the forecast of the best schedule, and the expected
    gain of the next run.

    The budget counts full runs. With --sizes 16,32,64 the function must take size=. The largest is the job; a run of
    a smaller one counts for its share of the work, and each size gets the same work, so small ones get more runs.
    Trials of several sizes cannot be ranked together, so none of them is stopped early.

    With --size 256 the job itself is never run. After two trials of each of --sizes, each next one is the schedule and
    the size that tell most of the job's plan for their part of what is left of --budget or --runs; thirty runs are a
    good number. Every run of any size counts: in one surface, a rate counts as rate x size^a, and a is averaged over by
    how well it explains the runs, from a prior of 0.5 +- 0.25.

    With --final, one more run of the job is steered: your function must ask schedule(step) as it goes. One that asks
    for all rates first, and a shell command, follow the plan, and the output says so.

    Stopped or killed at any moment, the same command goes on. With a larger budget it goes further.

    \b
    Examples:
      lodestar tune my_module:train --budget 20 --out runs
      lodestar tune my_module:train --steps 2000 --budget 10 --out runs --peak 1e-4 1e-2 --final
      lodestar tune my_module:train --steps 2000 --budget 10 --out runs --sizes 16,32,64
      lodestar tune my_module:train --steps 2000 --budget 4 --runs 30 --out small --sizes 16,32,64 --size 256
    """
    from lodestar.cli._sweep_table import SweepTable
    from lodestar.sweep.scales import Scales
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
            space=space,
            sizes=None if sizes is None else Scales.of(sizes).sizes,
            size=size,
            runs=runs,
            executor=on,
            jobs=jobs,
            threads=threads,
            trial_timeout=trial_timeout,
            metric_name=metric,
            direction=direction,
            task=task,
            prune=not no_prune,
            spend_all=spend_all,
            final=final,
            fit={} if updates is None else {"updates": updates},
            on_round=lambda now: table.head(round_table(now), round_line(now)),
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


def round_table(now: "Round") -> "Table":
    """The same as a table of one row."""
    table = _screen.table(
        ">spent", ">trials", ">best so far", ">best schedule's forecast", ">expected gain of the next"
    )
    found = now.prospect
    forecast = "-" if found is None else f"{found.final:.4g} ({found.lower:.4g} to {found.upper:.4g})"
    table.add_row(
        f"{now.spent:.1f} of {now.budget:g} runs",
        str(now.runs),
        "-" if now.best is None else f"{now.best[1]:.4g}",
        forecast,
        "-" if found is None else f"{found.gain:.2g}",
    )
    return table


def _show(result: "TuneResult", metric: str, out: str) -> None:
    from lodestar.planning.words import describe

    _screen.say(f"{result.spent:.1f} of {result.budget:g} runs spent on {result.runs} trials; {result.ended}.", "bold")
    if result.best is not None:
        _screen.say(f"Best {metric} of a trial: {result.best[1]:.4g} ({result.best[0]})")
    if result.note:
        _screen.say(result.note, "yellow")
    if result.plan is not None:
        at_end = result.as_dict()["plan"]
        interval = f"{at_end['lower']:.4g} to {at_end['upper']:.4g}"
        _screen.say(f"Plan: {result.plan.words}. Forecast final {metric}: {at_end['final']:.4g} ({interval}).", "bold")
    elif result.schedule is not None:
        _screen.say(f"Schedule: {describe(result.schedule.rates)}.", "bold")
    if result.choice is not None and result.choice.law:
        _screen.say(result.choice.law)
    for warning in (result.edge, result.choice.unsure if result.choice is not None else ""):
        if warning:
            _screen.warn(warning)
    if result.final is not None:
        _screen.say(f"The final run: {result.final[1]:.4g} ({result.final[0]}); it {result.steering}", "bold")
    elif result.steering:
        _screen.warn(f"The final run {result.steering}")
    if result.schedule_file is not None:
        _screen.say(f"Schedule, a rate for each update: {result.schedule_file}")
    if result.forecaster is not None:
        _screen.say(f"Forecaster: {result.forecaster}. Next: lodestar what-if, lodestar plan, or steer a job with it.")
