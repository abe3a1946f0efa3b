"""`lodestar bench`: put learning-rate schedulers through one honest comparison.

Comes in: tasks, methods, the size of the table. Goes out: runs in a folder, a table on the screen, a report.
Parses and prints; the protocol lives in `lodestar_bench`.
"""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lodestar.cli import _screen
from lodestar.cli._app import SETTINGS
from lodestar_bench.cli.arena import arena_command
from lodestar_bench.cli.merit import merit_command
from lodestar_bench.cli.paper import paper_command
from lodestar_bench.cli.table import as_data, show_table

if TYPE_CHECKING:
    from lodestar_bench.protocol import Bench
    from lodestar_bench.report.story import Story

group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, context_settings=SETTINGS)


def register(app: typer.Typer) -> None:
    """Join the app."""
    app.add_typer(group, name="bench")


@group.callback()
def about() -> None:
    """Put learning-rate schedulers through one honest comparison, your own among them.

    \b
    lodestar bench tasks                                          what can be trained
    lodestar bench methods                                        which schedulers there are
    lodestar bench table1 --task digits-mlp --scale cpu --out b   run the comparison; stop and resume at will
    lodestar bench report b                                       table, figures and data
    lodestar bench merit b                                        how far each method is from the best, over all tasks
    lodestar bench arena --task cifar10-mlp --out b               judge a change to Lodestar in minutes
    lodestar bench paper all --out b                              the paper's tables and figures from these runs

    Every method gets the same number of tuning runs, is judged on the same fresh seeds, and answers for all the
    compute it used.
    """


@group.command("tasks")
def tasks_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the tasks: what each is, how large, and whether its data are on this machine.

    \b
    Examples:
      lodestar bench tasks
      lodestar bench tasks --json > tasks.json
    """
    from lodestar_bench.listing import list_tasks

    found = list_tasks()
    if as_json:
        _screen.show_json([line.as_dict() for line in found])
        return
    lines = _screen.table("task", "what", ">weights: paper", ">laptop", ">cpu", "data")
    lines.columns[0].no_wrap = True
    for line in found:
        data = _screen.safe("here", "green") if not line.missing else _screen.safe("; ".join(line.missing), "yellow")
        weights = (_short(line.parameters.get(scale)) for scale in ("paper", "laptop", "cpu"))
        lines.add_row(line.name, _screen.safe(line.title), *weights, data)
    _screen.out().print(lines)
    _screen.out().print(
        "Scales: smoke (seconds, to try things), cpu (about 10 s a run on one core), laptop (a minute or so, at "
        "accuracies people know), paper (a GPU)."
    )
    _screen.out().print(
        _screen.safe("Your own: --task my_file.py:MyTask. Folders with data: LODESTAR_DATA=a:b.", "dim")
    )


@group.command("methods")
def methods_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the schedulers that can be compared: what each is, and what it does with its budget.

    \b
    Examples:
      lodestar bench methods
      lodestar bench methods --json > methods.json
    """
    from lodestar_bench.listing import list_methods

    found = list_methods()
    if as_json:
        _screen.show_json([line.as_dict() for line in found])
        return
    lines = _screen.table("method", "what", "list", "before it is judged")
    for line in found:
        lines.add_row(line.name, _screen.safe(line.title), line.group, line.budget)
    _screen.out().print(lines)
    _screen.out().print(_screen.safe("Your own: --methods my_file.py:MyMethod (see docs/bench/index.md).", "dim"))


@group.command("table1")
def table_command(
    task: Annotated[list[str], typer.Option(help="A task, or my_file.py:MyTask; may be repeated.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where everything is kept.")],
    scale: Annotated[str, typer.Option(metavar="smoke|cpu|laptop|paper", help="How large the task is.")] = "cpu",
    seeds: Annotated[int, typer.Option(min=1, help="Fresh seeds each method is judged on.")] = 20,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Only these, or my_file.py:MyMethod. Default: all.")
    ] = None,
    tune: Annotated[
        str, typer.Option(metavar="VALUESxSEEDS", help="Tuning runs of each method: values of its grid x seeds.")
    ] = "5x5",
    budget: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="RUNS",
            help="In place of --tune: all that each method may spend before its final runs, Lodestar's sweep included.",
        ),
    ] = None,
    block: Annotated[
        str, typer.Option(metavar="own|sgd|averaged", help="The optimizer of every method: like with like.")
    ] = "own",
    sweep: Annotated[
        str,
        typer.Option(
            metavar="sobol|shapes",
            help="What Lodestar learns from: quasi-random runs, or as many tuning runs of the paper's four shapes.",
        ),
    ] = "sobol",
    published: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Results that lodestar bench report wrote: what they hold is not made."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once. Default: one for each core.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run again what failed before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many runs it would take, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Run the paper's comparison: tune every method, let those that learn learn, then judge all on fresh seeds.

    Stop it at any moment (Ctrl-C, a kill, a power cut) and give the same command again: only what is missing is run.
    More seeds or methods later add to what is there. A run that diverges is kept and counts as the worst; a method
    that raises is shown as failed, and the rest goes on.

    \b
    Examples:
      lodestar bench table1 --task digits-mlp --scale smoke --seeds 5 --out try
      lodestar bench table1 --task fmnist-cnn --task cifar100-resnet18 --scale cpu --out bench-out
      lodestar bench table1 --task digits-mlp --methods cosine,lodestar,mine.py:MyMethod --out bench-out
      lodestar bench table1 --task digits-mlp --scale laptop --budget 10 --block averaged --out bench-out
      lodestar bench table1 --task fmnist-cnn --published results --out bench-out    (only what is not there)
    """
    from lodestar_bench.entry import open_bench

    values = _tuning(tune)
    if sweep not in ("shapes", "sobol"):
        raise typer.BadParameter(f"must be shapes or sobol, got {sweep!r}", param_hint="--sweep")
    wanted = [word.strip() for word in methods.split(",") if word.strip()] if methods else []
    benches = []
    for name in task:
        try:
            benches.append(
                open_bench(
                    name,
                    scale,
                    out,
                    wanted=wanted,
                    tune=values,
                    seeds=seeds,
                    source=sweep,  # pyright: ignore[reportArgumentType]
                    budget=budget,
                    block=block,
                )
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if published is not None:
            benches[-1].home.take_over(published, benches[-1].facts)
    if dry_run:
        _show_sizes(benches)
        return
    stories = _carry_out(benches, jobs, retry_failed, as_json)
    if as_json:
        _screen.show_json([as_data(one) for one in stories])
    for one in stories:
        if not as_json:
            show_table(one)
    if any(one.results.failures for one in stories):
        raise typer.Exit(1)


@group.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The folder given as --out to table1.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write to FOLDER/TASK-SCALE. Default: beside the runs."),
    ] = None,
    small: Annotated[
        bool, typer.Option("--small", help="No pictures and no curves: the page, the table, a line for each run.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
) -> None:
    """Write the report of a comparison: the table, figures, and every result as CSV. Works at any time, also half-way.

    \b
    Examples:
      lodestar bench report bench-out
      lodestar bench report bench-out -o results
      lodestar bench report bench-out -o results --small    (to be kept in a repository)
    """
    from lodestar_bench.home import Home
    from lodestar_bench.report import write_report

    stories = []
    for home in Home.all(folder):
        target = home.path / "report" if out is None else out / home.path.name
        with _screen.progress(f"drawing {home.path.name}", None, quiet=as_json):
            story, files = write_report(home, target, small=small)
        stories.append(story)
        if not as_json:
            show_table(story)
            _screen.out().print(_screen.safe(f"Report: {target / 'README.md'} and {len(files) - 1} files.", "green"))
    if as_json:
        _screen.show_json([as_data(one) for one in stories])


group.command("paper")(paper_command)
group.command("arena")(arena_command)
group.command("merit")(merit_command)


def _short(count: int | None) -> str:
    """A number of weights: 11.2 M, 17 k."""
    if count is None:
        return "-"
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count / 1e3:.0f} k"


def _tuning(words: str) -> tuple[int, int]:
    values, cross, seeds = words.lower().partition("x")
    if not cross or not values.isdigit() or not seeds.isdigit() or not int(values) or not int(seeds):
        raise typer.BadParameter(f"takes VALUESxSEEDS such as 5x5, got {words!r}", param_hint="--tune")
    return int(values), int(seeds)


def _carry_out(benches: "list[Bench]", jobs: int | None, retry: bool, quiet: bool) -> "list[Story]":
    from lodestar.sweep import LocalExecutor
    from lodestar_bench.cli.screen import Screen
    from lodestar_bench.report.story import story

    command = shlex.join(["lodestar", *sys.argv[1:]])
    stories = []
    with LocalExecutor(jobs, logs=benches[0].home.path.parent / "logs") as place:
        for bench in benches:
            with bench.home.at_work(command, place.slots) as diary, Screen(bench, place.slots, quiet=quiet) as screen:
                from lodestar_bench.protocol import carry_out

                if retry:
                    bench.home.forget_failures()
                try:
                    carry_out(bench, place, on_event=screen.then(diary), on_round=screen.on_round)
                except KeyboardInterrupt:
                    screen.stopped(command)
                    raise typer.Exit(130) from None
            stories.append(story(bench.home))
    return stories


def _show_sizes(benches: "list[Bench]") -> None:
    from lodestar_bench.estimate import in_words, seconds_left

    for bench in benches:
        results = bench.results()
        runs, learnings = bench.plan.left(results)
        left = seconds_left(bench.plan, results, 1)
        told = "" if left is None else f", about {in_words(left)} of one core"
        _screen.out().print(
            _screen.safe(f"{bench.home.path.name}: {runs} runs and {learnings} learnings to make{told}")
        )
