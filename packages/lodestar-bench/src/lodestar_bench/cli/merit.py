"""`lodestar bench merit`: how far each method is from the best, over all tasks of a block.

Comes in: the folders of comparisons. Goes out: a table on the screen, and a page with its data and a picture.
"""

from pathlib import Path
from typing import Annotated

import typer

from lodestar.cli import _screen


def merit_command(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The folder given as --out to table1.")],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="The method that is held against each of the others.")
    ] = "lodestar-tune",
    block: Annotated[
        str, typer.Option(metavar="own|sgd|averaged", help="Only comparisons under this optimizer: like with like.")
    ] = "own",
    budget: Annotated[
        int | None,
        typer.Option(min=2, metavar="RUNS", help="Read comparisons as under this budget. Default: as asked for last."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write a page, its data and a picture there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Say how far each method is from the best, whatever the job: regret over all tasks compared in OUT.

    Regret is how far a method's mean lies below that of the best method of the same task, in units of what one seed
    differs from the next. Methods that bring an optimizer of their own take no part. Only methods with all their final
    runs on every task are counted.

    \b
    Examples:
      lodestar bench merit bench-out
      lodestar bench merit bench-out --budget 10 --block averaged -o results/merit-averaged-10
    """
    from lodestar_bench import blocks
    from lodestar_bench.home import Home
    from lodestar_bench.merit import merit
    from lodestar_bench.report.contests import contests
    from lodestar_bench.report.merit import HEADS, as_data, cells, write_merit

    known = blocks.block(block)
    there = contests(Home.all(folder), block, budget)
    try:
        found = merit(there, method)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    spent = "" if budget is None else f", each method with {budget} runs before its final ones"
    tasks = "1 task" if len(there) == 1 else f"{len(there)} tasks"
    about = f"{tasks}, {found.seeds} fresh seeds, {known.title}{spent}."
    files = [] if out is None else write_merit(found, about, out)
    if as_json:
        _screen.show_json(as_data(found, about))
        return
    heads = [head.format(asked=found.asked) for head in HEADS]
    lines = _screen.table(heads[0], *(f">{head}" for head in heads[1:]), title=about)
    lines.columns[0].no_wrap = True
    for row in found.rows:
        lines.add_row(*(_screen.safe(cell, "bold" if row.method == method else "") for cell in cells(found, row)))
    _screen.out().print(lines)
    if files:
        _screen.out().print(_screen.safe(f"Page: {files[0]} and {len(files) - 1} files.", "green"))
