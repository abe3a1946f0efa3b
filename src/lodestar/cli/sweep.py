"""`lodestar sweep`: many runs of your own training function into a store; stop it at any moment and go on later."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.sweep import SweepResult, Trial

SHOWN_FAILURES = 3


def sweep_command(
    function: Annotated[str | None, Argument(help="Your training function: module:name or path/file.py:name.")] = None,
    out: Annotated[str, Option("--out", "-o", metavar="STORE", help="The store to write to; made if missing.")] = "",
    command: Annotated[str | None, Option(metavar="LINE", help="A shell command, not a function; see below.")] = None,
    space: Annotated[
        str,
        Option(
            metavar="sobol|averaged|paper|FILE|WORDS",
            help="Which schedules: quasi-random, the same for averaged weights, the paper's grid, a file, or in words.",
        ),
    ] = "sobol",
    runs: Annotated[int | None, Option(min=1, help="How many runs; default 100, or all that a file lists.")] = None,
    steps: Annotated[int | None, Option(min=1, help="Updates in a run; default: the function's total_steps.")] = None,
    peak: Annotated[
        tuple[float, float] | None, Option(metavar="LOW HIGH", help="Lowest and highest peak rate; default 1e-4 0.1.")
    ] = None,
    seeds: Annotated[int | None, Option(min=1, help="Seeds for each schedule of a grid or a list.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the sweep: the same seed gives the same trials.")] = 0,
    sizes: Annotated[
        str | None, Option(metavar="N,N,...", help="Spread the runs over these sizes; your function gets size.")
    ] = None,
    batches: Annotated[
        str | None, Option(metavar="N,N,...", help="The same over batches; your function gets batch_size.")
    ] = None,
    lengths: Annotated[
        str | None, Option(metavar="N,N,...", help="The same over numbers of updates, in place of --steps.")
    ] = None,
    metric: Annotated[str, Option(metavar="NAME", help="What your metric is called.")] = "metric",
    direction: Annotated[str, Option(metavar="max|min", help="Which metric is better.")] = "max",
    task: Annotated[str | None, Option(metavar="NAME", help="The task's name, kept with each run.")] = None,
    jobs: Annotated[int | None, Option("--jobs", "-j", min=1, help="Trials at once; default: one a core.")] = None,
    threads: Annotated[int, Option(min=1, help="Threads (and cores) for each trial.")] = 1,
    trial_timeout: Annotated[
        str | None, Option(metavar="TIME", help="Stop and fail a trial that takes longer: 90s, 30m, 2h, 1h30m.")
    ] = None,
    on: Annotated[str, Option(metavar="local|ray|ray://HOST:PORT", help="Where trials run.")] = "local",
    cpus: Annotated[float | None, Option(min=0, help="CPUs for each trial, on Ray.")] = None,
    gpus: Annotated[float | None, Option(min=0, help="GPUs for each trial, on Ray.")] = None,
    no_ship: Annotated[bool, Option("--no-ship", help="On Ray: do not send this folder; the nodes have it.")] = False,
    log_to: Annotated[
        str | None, Option(metavar="TRACKER", help="Also log runs to mlflow:..., wandb:... or tensorboard:...")
    ] = None,
    keep_diverged: Annotated[bool, Option("--no-cut", help="Let trials run on whose loss is lost.")] = False,
    retry_failed: Annotated[bool, Option("--retry-failed", help="Run failed trials again.")] = False,
    prune: Annotated[
        bool, Option("--prune", help="Stop trials that have hardly a chance to become the best, by forecast.")
    ] = False,
    add: Annotated[bool, Option("--add", help="Put this sweep into a store that holds another one.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the trials and their schedules, and stop.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run your training function many times, each with another schedule, into a store of runs.

    The function is called with keywords, and takes those it has parameters for: schedule (schedule(step) is the
    learning rate of an update, counted from 1), seed, total_steps, report. It calls report(step, loss=..., metric=...)
    as it goes. It may return a mapping of plain values, which are kept with the run.

    Stopped or killed at any moment, the same command goes on: only unfinished trials run again. Trials whose loss is
    lost are cut early and kept as diverged. A trial that raises, crashes or takes too long fails, the rest goes on, and
    --retry-failed runs it again. What trials print is in STORE.trials.

    With --prune, a trial is stopped once its forecast leaves it hardly a chance to become the best; it is kept as a run
    that was cut short, with the reason among its notes. Nothing is stopped before the forecasts have proved themselves.

    With --sizes 16,8,4 the runs are spread evenly over three sizes, in turn, each with schedules of its own. The
    function must take size=, and makes its network so wide; the size is kept with the run. --batches (batch_size=) and
    --lengths (total_steps=) do the same; together, every combination is tried.

    A shell command finds its schedule in the file {schedule} (JSON; {schedule_csv} for CSV), and {seed},
    {total_steps}, {size}, {batch_size}; it appends lines such as {"step": 10, "loss": 0.7, "metric": 0.8} to the file
    {report}. The same stand in LODESTAR_SCHEDULE, LODESTAR_SEED, and so on.

    \b
    Examples:
      lodestar sweep my_module:train --steps 2000 --out runs
      lodestar sweep my_module:train --steps 2000 --out runs --space paper --peak 1e-4 1e-2
      lodestar sweep my_module:train --steps 2000 --out runs --trial-timeout 30m --retry-failed
      lodestar sweep my_module:train --steps 2000 --out small --sizes 16,8,4 --runs 30
      lodestar sweep train.py:main --out runs --space space.toml --dry-run
      lodestar sweep train.py:main --steps 2000 --out runs --space "cosine:1e-3, linear:3e-3:warmup=0.05"
      lodestar sweep --command "python train.py --rates {schedule_csv} --log {report}" --steps 500 --out runs
      lodestar sweep my_module:train --steps 2000 --out s3://bucket/runs --on ray://head:10001 --gpus 1
    """
    from lodestar.cli._sweep_table import SweepTable
    from lodestar.sweep.call import identity, make_executor, make_job, make_pruner, make_space, make_trials
    from lodestar.sweep.journal import folder_beside
    from lodestar.sweep.scales import Scales
    from lodestar.sweep.sweep import run_trials

    if not out and not dry_run:
        raise typer.BadParameter("name the store to write to", param_hint="--out")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        scales = Scales.of(sizes, batches, lengths)
        facts: dict[str, Any] = {"metric_name": metric, "direction": direction, "task": task}
        job = make_job(function, command, cut_diverged=not keep_diverged, scales=scales.keywords, **facts)
        chosen = make_space(space, steps, seed=seed, peak=peak, seeds=seeds)
        trials = make_trials(job, chosen, runs, steps, seed=seed, scales=scales)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if dry_run:
        _show_trials(trials, as_json=as_json)
        return
    with SweepTable(quiet=as_json) as table:
        result = run_trials(
            job,
            trials,
            out,
            make_executor(
                on,
                jobs=jobs,
                threads=threads,
                logs=folder_beside(out),
                cpus=cpus,
                gpus=gpus,
                ship=False if no_ship else None,
                timeout=trial_timeout,
            ),
            identity=identity(job, chosen, trials, seed=seed, scales=scales),
            retry_failed=retry_failed,
            add=add,
            prune=make_pruner(prune, scales),
            log_to=log_to,
            on_start=table.start,
            on_event=table.event,
        )
    if as_json:
        _screen.show_json(result.as_dict())
    else:
        _show_result(result, metric, out)
    if result.failed or result.failed_before:
        raise typer.Exit(1)


def _show_trials(trials: "list[Trial]", *, as_json: bool) -> None:
    from lodestar.cli._sweep_table import spark

    if as_json:
        rows = [
            {
                "name": trial.name,
                "seed": trial.seed,
                "total_steps": trial.total_steps,
                "schedule": trial.schedule and trial.schedule.name,
                "peak_lr": trial.schedule and trial.schedule.peak,
                "settings": dict(trial.settings),
            }
            for trial in trials
        ]
        _screen.show_json({"trials": rows})
        return
    scales = [name for name in ("size", "batch_size") if any(name in trial.settings for trial in trials)]
    heads = ("trial", ">peak lr", *(f">{name.removesuffix('_size')}" for name in scales), ">seed", ">steps", "schedule")
    table = _screen.table(*heads, title=f"{len(trials)} trials")
    for trial in trials:
        peak = None if trial.schedule is None else trial.schedule.peak
        sizes = (str(trial.settings.get(name, "-")) for name in scales)
        cells = (_screen.number(peak), *sizes, str(trial.seed), str(trial.total_steps), spark(trial))
        table.add_row(_screen.safe(trial.name, limit=40), *cells)
    _screen.out().print(table)


def _show_result(result: "SweepResult", metric: str, out: str) -> None:
    from lodestar.cli._sweep_table import duration

    for failure in result.failed[:SHOWN_FAILURES]:
        _screen.say(f"Failed: {failure.trial.name}: {failure.reason}", "red", limit=600)
        if failure.detail:
            lines = failure.detail.strip().splitlines()[-8:]
            _screen.say("\n".join(f"    {line}" for line in lines), "dim")
    if len(result.failed) > SHOWN_FAILURES:
        _screen.say(f"... and {len(result.failed) - SHOWN_FAILURES} more failed", "red")
    made = f"{result.finished} finished, {result.diverged} diverged, {result.cut_short} cut short"
    made += f", {result.pruned} stopped by their forecast" if result.pruned else ""
    made += f", {len(result.failed)} failed"
    before = f"; {result.before} were there before" if result.before else ""
    _screen.say(f"{result.trials} trials in {duration(result.seconds)}: {made}{before}.", "bold")
    if result.failed_before:
        _screen.say(f"{result.failed_before} failed in an earlier call. Next: --retry-failed", "yellow")
    if result.best is not None:
        _screen.say(f"Best {metric}: {result.best[1]:.4g} ({result.best[0]})")
    if result.failed:
        _screen.say(f"What trials printed: {out}.trials. Next: mend the cause, then --retry-failed")
    if result.finished + result.before:
        _screen.say(f"Next: lodestar doctor {out}")
