"""`lodestar import`: past runs into a store; here the group, and the import of tables.

Comes in: files and which column is which. Goes out: a store, and a report: the column guess with its reasons, the
runs left out and why. `table` is meant when no kind is named; the kinds of trackers come from `import_trackers.py`.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from lodestar.cli import _screen, import_trackers
from lodestar.cli._app import SETTINGS, DefaultGroup
from lodestar.cli._import_screen import show_guess, show_report

ALIASES = {"csv": "table"}


class ImportGroup(DefaultGroup):
    """`import csv` is `import table`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's own name in place of an alias."""
        return super().parse_args(ctx, [ALIASES.get(args[0], args[0]), *args[1:]] if args else args)


group = typer.Typer(cls=ImportGroup, no_args_is_help=True, rich_markup_mode=None, context_settings=SETTINGS)


def register(app: typer.Typer) -> None:
    """Join the app."""
    app.add_typer(group, name="import")


@group.callback()
def kinds() -> None:
    """Bring past runs into a store, from files or from where an experiment tracker keeps them.

    \b
    lodestar import mlflow http://localhost:5000 --out runs   from a tracker; run it again for what is new
    lodestar import tensorboard logs --out runs --dry-run     look first: which quantity is taken for what
    lodestar import runs.csv --out runs                       one table, a row for each run and step
    lodestar import logs/*.jsonl --out runs                   a file for each run
    lodestar import runs.csv --out runs --lr my_rate          name a column that was not guessed
    lodestar import mlflow --help                             all options of a kind

    Without a kind (below), `table` (or `csv`) is meant: CSV, TSV, JSON lines, JSON or Parquet.
    """


def _column(what: str) -> typer.models.OptionInfo:
    return typer.Option(metavar="COLUMN", help=what, show_default=False)


@group.command("table")
def import_table(
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables (.csv .tsv .jsonl .json .parquet), or folders of them."),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="STORE", help="The store to write to; made if missing.")],
    run: Annotated[str | None, _column("The run's name. None: a file is a run.")] = None,
    step: Annotated[str | None, _column("The optimizer step; epochs if there is none.")] = None,
    loss: Annotated[str | None, _column("The training loss.")] = None,
    metric: Annotated[str | None, _column("The validation metric.")] = None,
    lr: Annotated[str | None, _column("The learning rate.")] = None,
    direction: Annotated[str | None, typer.Option(metavar="max|min", help="Which metric is better.")] = None,
    total: Annotated[str | None, _column("The planned number of steps (or the number itself).")] = None,
    schedule: Annotated[str | None, _column("The schedule's name.")] = None,
    peak_lr: Annotated[str | None, _column("The schedule's peak learning rate.")] = None,
    seed: Annotated[str | None, _column("The seed.")] = None,
    status: Annotated[str | None, _column("How the run ended: finished, diverged, killed, ...")] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="The task: its name, or the column that has it.")
    ] = None,
    layout: Annotated[str, typer.Option(metavar="auto|long|wide", help="A row, or a column, for each run.")] = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the column guess and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Import CSV, TSV, JSON or Parquet tables of runs.

    A table has a row for each run and step, or a column for each run; or there is a file for each run. Columns are
    guessed from their names, and the guess is shown. Name a COLUMN to override it, or 'none' to say there is no
    such column. Blank cells mean 'not logged at that step', so validation may be rare. Steps logged twice (a
    resumed run) are merged, the last wins. Runs that break a rule are left out, and listed with the reason.

    \b
    Examples:
      lodestar import sweep.csv --out runs
      lodestar import wandb_export.csv --out runs --metric val_f1 --direction max
      lodestar import logs/ --out runs --dry-run
    """
    from lodestar.importers.tables.table import LAYOUTS, TableImport, store_runs
    from lodestar.runs.store import RunStore

    for given, allowed, flag in ((layout, LAYOUTS, "--layout"), (direction or "max", ("max", "min"), "--direction")):
        if given not in allowed:
            raise typer.BadParameter(f"must be {' or '.join(allowed)}, got {given!r}", param_hint=flag)
    named = {"run": run, "step": step, "loss": loss, "metric": metric, "lr": lr, "total": total}
    named |= {"schedule": schedule, "peak_lr": peak_lr, "seed": seed, "status": status}
    table = TableImport(files, layout=layout, direction=direction, task=task, columns=named)
    if not as_json:
        show_guess(table.guess, f"Columns ({table.guess.layout} table)")
    if not dry_run:
        with _screen.progress("reading", None, quiet=as_json) as update:
            store_runs(
                table, RunStore(out), lambda done, of, rows: update(done, f"file {done + 1} of {of}, {rows:,} rows")
            )
    if as_json:
        _screen.show_json({**table.report.as_dict(), "store": None if dry_run else str(out)})
    elif not dry_run:
        show_report(table.report, str(out))
    if not dry_run and not table.report.imported:
        raise typer.Exit(1)


import_trackers.register(group)
