"""`lodestar bench paper`: the paper's tables and figures from a bench's runs.

Comes in: names of items, tasks, where the runs are and where results go. Goes out: a folder, and lines on the screen.
Parses and prints; the items live in `lodestar_bench.paper`.
"""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lodestar.cli import _screen
from lodestar_bench._errors import BenchError

if TYPE_CHECKING:
    from lodestar_bench.paper.produce import ItemOutcome, Order


def paper_command(
    items: Annotated[
        list[str] | None, typer.Argument(metavar="LIST|all", help="Items, by name; without any: lists them.")
    ] = None,
    task: Annotated[list[str] | None, typer.Option(help="A task; may be repeated. Default: all in --out.")] = None,
    scale: Annotated[str, typer.Option(metavar="smoke|cpu|laptop|paper", help="How large the tasks are.")] = "cpu",
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder given as --out to table1.")
    ] = Path("bench-out"),
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FOLDER", help="Where results go. Default: OUT/paper.")
    ] = None,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Draw what --to holds, from its data; no runs are needed.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Make anew what is there already.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds of a method, for items that train anew. Default: the item's own.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once. Default: one for each core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
) -> None:
    """Make the paper's tables and figures from a bench's runs, each with its data, drawn, and told in words.

    Reads what lodestar bench table1 left in --out. What was made from the same runs before is not made again, so stop
    it at any moment and give the same command once more. Results: a folder for each item with CSV or Parquet data, PNG
    figures and a README that says what came out and where it differs from the paper; and index.html with all charts,
    to hover over.

    \b
    Examples:
      lodestar bench paper                                        list the items
      lodestar bench paper all --out bench-out                    all items for every task found there
      lodestar bench paper table1 cost --task digits-mlp --out bench-out --to results
      lodestar bench paper all --draw-only --to results           figures and index.html from the data kept there
    """
    from lodestar_bench import paper

    if not items:
        _list(as_json)
        return
    chosen, folder = paper.items(items), to or out / "paper"
    from lodestar_bench.paper.publish import publish

    outcomes: list[ItemOutcome] = []
    with _screen.progress("the paper's items", None, quiet=as_json) as update:
        if not draw_only:
            from lodestar.sweep.executors.cores import cores_here
            from lodestar_bench.paper.produce import Order, find_homes

            command = shlex.join(["lodestar", *sys.argv[1:]])
            order = Order(folder, command, jobs or cores_here(), seeds=seeds, again=again)
            outcomes = _make(chosen, find_homes(out, task or [], scale), order, update, as_json)
        update(0, "drawing")
        files = publish(chosen, folder)
    if draw_only and not files:
        raise BenchError(f"there are no data of the paper's items in {folder}. Fix: name their folder as --to")
    _close(outcomes, files, folder, as_json)


def _make(chosen, homes, order: "Order", update, quiet: bool) -> "list[ItemOutcome]":
    from lodestar_bench.paper.produce import produce

    def tell(item: str, home: str, done: int, of: int, what: str) -> None:
        update(done, f"{item}, {home}: {what} ({done} of {of})")

    outcomes: list[ItemOutcome] = []
    for item in chosen:
        for outcome in produce([item], homes, order, tell):
            outcomes.append(outcome)
            _say(outcome, quiet=quiet)
    return outcomes


def _say(outcome: "ItemOutcome", *, quiet: bool) -> None:
    if outcome.trouble:
        _screen.warn(f"{outcome.item}, {outcome.task}: {outcome.trouble}")
    elif not quiet:
        how = f"made in {outcome.seconds:.3g} s" if outcome.seconds else "was there already (--again makes it anew)"
        _screen.err().print(_screen.safe(f"{outcome.item}, {outcome.task}: {how}"), soft_wrap=True)


def _close(outcomes: "list[ItemOutcome]", files: list[Path], folder: Path, as_json: bool) -> None:
    if as_json:
        made = [{"item": o.item, "task": o.task, "seconds": o.seconds, "trouble": o.trouble} for o in outcomes]
        _screen.show_json({"folder": str(folder), "made": made, "files": [str(path) for path in files]})
    elif files:
        _screen.out().print(
            _screen.safe(f"Results: {folder / 'README.md'}; charts: {folder / 'index.html'}", "green"), soft_wrap=True
        )
    if any(outcome.trouble for outcome in outcomes):
        raise typer.Exit(1)


def _list(as_json: bool) -> None:
    from lodestar_bench import paper

    found = [paper.item(name) for name in paper.names()]
    if as_json:
        _screen.show_json([{"name": item.name, "title": item.title, "needs": item.needs} for item in found])
        return
    lines = _screen.table("item", "what", "made from")
    for item in found:
        lines.add_row(item.name, _screen.safe(item.title), _screen.safe(item.needs))
    _screen.out().print(lines)
    _screen.out().print(_screen.safe("Make them: lodestar bench paper table1 cost --out bench-out, or all.", "dim"))
