"""`lodestar bench arena`: judge a change to the method in minutes.

Comes in: a task, settings to try, baselines. Goes out: results in a folder, a table on the screen. Parses and prints;
sweep, fit and steering live in `lodestar_bench.arena`.
"""

import dataclasses
import functools
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lodestar.cli import _screen
from lodestar_bench._threads import one_thread

if TYPE_CHECKING:
    from lodestar_bench.arena.contestant import Contestant
    from lodestar_bench.arena.home import ArenaHome
    from lodestar_bench.arena.result import Result

BASELINES = ("cosine", "onecycle", "linear", "wsd")
WIDE = 100  # columns from which on a list tells when and with which code


def arena_command(
    task: Annotated[str, typer.Option(help="A task without convolutions, or my_file.py:MyTask.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where everything is kept.")] = Path(
        "bench-out"
    ),
    scale: Annotated[str, typer.Option(metavar="smoke|cpu|laptop|paper", help="How large the task is.")] = "cpu",
    runs: Annotated[int, typer.Option(min=4, help="Quasi-random runs of the sweep to learn from.")] = 100,
    seeds: Annotated[int, typer.Option(min=2, max=1000, help="Fresh seeds each contestant is judged on.")] = 20,
    variant: Annotated[
        list[str] | None, typer.Option(metavar="PRESET", help="A preset of the scheduler; may be repeated.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting, or fit.NAME of the fit; may be repeated."),
    ] = None,
    ablate: Annotated[
        list[str] | None,
        typer.Option(metavar="STUDY", help="parts, samples-noise, horizon, volume or diversity; may be repeated."),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(metavar="METHOD[=VALUE]", help="Judge against these. Without a value it is tuned. Default: four."),
    ] = None,
    sweep: Annotated[
        str, typer.Option(metavar="sobol|grid", help="Learn from quasi-random runs, or from the paper's grid.")
    ] = "sobol",
    optimizer: Annotated[
        str,
        typer.Option(metavar="averaged|recipe", help="Steer with averaged weights, or the recipe's optimizer alone."),
    ] = "averaged",
    optimiser: Annotated[str | None, typer.Option("--optimiser", hidden=True)] = None,  # as release one spelt it
    narrow: Annotated[
        int,
        typer.Option(min=1, metavar="TIMES", help="Sweep and tune on a network so many times narrower: steer big."),
    ] = 1,
    sweep_seed: Annotated[int, typer.Option(min=0, help="Another number: another sweep.")] = 0,
    fit_seed: Annotated[int, typer.Option(min=0, help="Another number: another fit to the same runs.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Cores to use. Default: all.")] = None,
    show: Annotated[bool, typer.Option("--show", help="List what was judged so far, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Judge a change to the method in minutes: a sweep, a fit, then fresh seeds steered side by side in one program.

    Every part is made once and kept: the sweep, each fit (by its runs, its settings and Lodestar's own code), each
    contestant's result. Stop it at any moment and give the same command again. A second variant on the same sweep and
    fit takes the time of its own runs only. --set takes any setting of the scheduler and, as fit.NAME, of
    the fit (docs/reference/settings.md); a word of a study replaces single settings: see docs/bench/arena.md.

    \b
    Examples:
      lodestar bench arena --task cifar10-mlp
      lodestar bench arena --task cifar10-mlp --variant paper --set noise=0.3
      lodestar bench arena --task stories-chars --set hysteresis=none --set fit.members=4 --runs 30
      lodestar bench arena --task cifar10-mlp --narrow 4
      lodestar bench arena --task diamonds-mlp --ablate parts --ablate horizon
      lodestar bench arena --task cifar10-mlp --show
    """
    one_thread()
    from lodestar_bench import tasks
    from lodestar_bench.arena.home import ArenaHome

    if show:
        known = tasks.task(task)
        _show_all(ArenaHome.of(out, known.name, scale), as_json)
        return
    try:
        learned = _sweep(sweep, runs, sweep_seed, narrow, optimiser or optimizer)
        wanted = _contestants(variant, change, ablate, baseline, learned, fit_seed)
        problem = tasks.problem(_absolute(task), scale)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    home = ArenaHome.of(out, problem.task, scale)
    small = functools.partial(tasks.narrower, _absolute(task), scale)
    found, spent = _carry_out(problem, home, wanted, seeds, jobs, as_json, small)
    _show(found, home, spent, as_json)


def _sweep(kind: str, runs: int, seed: int, narrower: int, form: str) -> Any:
    from lodestar_bench.arena.contestant import Sweep

    if kind not in ("sobol", "grid"):
        raise typer.BadParameter(f"must be sobol or grid, got {kind!r}", param_hint="--sweep")
    if kind == "grid":
        return Sweep("grid", seed=seed, narrower=narrower, form=form)
    return Sweep("sobol", runs=runs, seed=seed, narrower=narrower, form=form)


def _contestants(variant, change, ablate, baseline, sweep, fit_seed) -> "list[Contestant]":
    """Baselines first, the sweep's winner too; each preset with its changes, closed and open loop; or studies."""
    from lodestar_bench.arena.contestant import Replay, Variant, read_baseline, read_changes, with_changes
    from lodestar_bench.arena.study import study

    given = [read_baseline(word) for word in baseline or BASELINES]
    found: list[Contestant] = list(given)
    if sweep.narrower > 1:  # what tuning on the small network would have told, beside tuning on the full one
        found += [dataclasses.replace(one, narrower=sweep.narrower) for one in given if math.isnan(one.value)]
    if not ablate:
        found.append(Replay(sweep))
    for preset in variant or ["default"]:
        start = with_changes(Variant(preset=preset, sweep=sweep, fit_seed=fit_seed), read_changes(change or ()))
        if ablate:
            found += [one for name in ablate for one in study(name, start)]
        else:
            found += [dataclasses.replace(start, open_loop=True), start]
    return found


def _carry_out(problem, home, wanted, seeds: int, jobs: int | None, quiet: bool, small) -> "tuple[list[Result], dict]":
    from lodestar_bench.arena.judge import Judge
    from lodestar_bench.kept_programs import keep_programs

    keep_programs(home.path.resolve() / "programs")
    found: list[Result] = []
    with home.at_work(), _screen.progress(home.path.parent.name, None, quiet=quiet) as update:
        lines = _Lines(update, quiet)
        judge = Judge(problem, home, tell=lines.tell, lanes=jobs, narrower=small)
        for place, one in enumerate(wanted, 1):
            lines.part = f"[{place}/{len(wanted)}] "
            try:
                found.append(judge.judge(one, seeds))
            except KeyboardInterrupt:
                _screen.warn("stopped; what was finished is kept. To go on: the same command")
                raise typer.Exit(130) from None
            lines.ended(found[-1].name)
    return found, judge.spent


class _Lines:
    """Progress: a bar on a terminal, a line for each part elsewhere."""

    def __init__(self, update, quiet: bool):
        self._update, self._quiet = update, quiet or _screen.err().is_terminal
        self._what, self._began, self.part = "", time.monotonic(), ""

    def tell(self, what: str, done: int, of: int) -> None:
        """Something is under way."""
        if what != self._what:
            self.ended(self._what)
            self._what, self._began = what, time.monotonic()
        self._update(round(100 * done / max(of, 1)), f"{self.part}{what}: {done} of {of}")

    def ended(self, what: str) -> None:
        """It is over."""
        if self._what and what and not self._quiet:
            _screen.err().print(_screen.safe(f"{self.part}{self._what}: {time.monotonic() - self._began:.0f} s"))
        self._what = ""


def _show(found: "list[Result]", home: "ArenaHome", spent: dict[str, float], as_json: bool) -> None:
    from lodestar_bench.arena.standings import standings

    about = home.about()
    made = standings(found, about["direction"])
    if as_json:
        _screen.show_json({"task": about["task"], "scale": about["scale"], "spent": spent, "rows": _rows(made)})
        return
    _table(made, about)
    told = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in spent.items()) or "all of it was there"
    _screen.out().print(_screen.safe(f"This time: {told}. Kept in {home.path}.", "dim"))


def _show_all(home: "ArenaHome", as_json: bool) -> None:
    """Every result, a table for each set of seeds."""
    from lodestar_bench.arena.standings import standings

    about, results = home.about(), home.results()
    tables = [
        standings([one for one in results if one.seeds == seeds], about["direction"])
        for seeds in dict.fromkeys(one.seeds for one in results)
    ]
    if as_json:
        _screen.show_json({"task": about["task"], "scale": about["scale"], "tables": [_rows(one) for one in tables]})
        return
    for one in tables:
        _table(one, about, dated=True)
    if not tables:
        _screen.out().print(_screen.safe(f"Nothing was judged yet in {home.path}."))


def _table(made, about, *, dated: bool = False) -> None:
    from lodestar_bench.paper.wording import factor, p_value, result

    name, times = about["metric_name"], factor(about["metric_name"])
    count = made.rows[0].finals.count
    dated = dated and _screen.out().width >= WIDE
    heads = [
        "contestant",
        f">test {name}",
        ">worst",
        ">to best",
        ">p",
        ">div.",
        ">s",
        *(["when", "code"] if dated else []),
    ]
    lines = _screen.table(*heads, title=f"{about['task']}, scale {about['scale']}, {count} seeds")
    for row in made.rows:
        gap, one = row.paired, row.result
        reach = times * (gap.upper - gap.mean)
        told = "the best" if one is made.best else "-"
        if math.isfinite(gap.mean):
            told = f"{times * gap.mean:+.3g}" + (f" ± {reach:.2g}" if math.isfinite(reach) else "")
        end = [one.when[:16], one.code] if dated else []
        figures = (result(name, row.finals.mean, row.finals.std), result(name, row.worst), told, p_value(row.welch.p))
        lines.add_row(
            _screen.safe(one.name, "bold" if one.ours else ""), *figures, str(row.diverged), f"{one.seconds:.0f}", *end
        )
    lines.columns[1].no_wrap = lines.columns[3].no_wrap = True
    _screen.out().print(lines)
    legend = (
        "To best: paired difference to the best baseline, better is +, with its 95 % interval; p: Welch; s: its runs."
    )
    _screen.out().print(_screen.safe(legend, "dim"))


def _rows(made) -> list[dict[str, Any]]:
    return [{**dataclasses.asdict(row), "best_baseline": row.result is made.best} for row in made.rows]


def _absolute(task: str) -> str:
    file, colon, name = task.rpartition(":")
    return f"{Path(file).resolve()}:{name}" if colon and file.endswith(".py") else task
