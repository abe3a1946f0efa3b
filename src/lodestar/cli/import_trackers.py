"""`lodestar import mlflow | wandb | ...`: one command for each kind of tracker, all made from the registry.

Comes in: the kinds (`lodestar.importers.kinds`). Goes out: commands that differ in their address and in the few options
of their kind; what to take and where to put it is said with the same options everywhere.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lodestar.cli import _screen
from lodestar.cli._import_screen import show_guess, show_plan, show_report
from lodestar.importers.kinds import KINDS, Choice, Kind

CHOICES = ("loss", "metric", "direction", "lr", "step", "task", "total")


def register(group: typer.Typer) -> None:
    """Join the group `lodestar import`."""
    for kind in KINDS.values():
        group.command(kind.name, help=_help(kind))(_command(kind))


def _quantity(what: str) -> Any:
    return Annotated[str | None, typer.Option(metavar="QUANTITY", help=what, show_default=False)]


def _text(metavar: str, what: str) -> Any:
    return Annotated[str | None, typer.Option(metavar=metavar, help=what, show_default=False)]


def _shared() -> dict[str, tuple[Any, Any]]:
    """The options that every tracker has: name -> annotation, default."""
    out = typer.Option(
        "--out", "-o", metavar="STORE", help="The store to write to (a folder, s3://...); made if missing."
    )
    only = "Only runs of this name; * and ? stand for anything (in quotes: 'lr-*')."
    mapping = typer.Option(
        metavar="FILE", help='A TOML file with these choices: metric = "val/acc"; see docs/trackers.md.'
    )
    rebuild = typer.Option(
        metavar="yes|no", help="Rebuild an lr that was not logged from the config, where that is certain."
    )
    return {
        "out": (Annotated[str, out], inspect.Parameter.empty),
        "loss": (_quantity("The training loss."), None),
        "metric": (_quantity("The validation metric; 'none': there is none."), None),
        "direction": (_text("max|min", "Which metric is better."), None),
        "lr": (_quantity("The learning rate: the parameter group to follow; 'none': there is none."), None),
        "step": (
            _quantity("The optimizer step, where it was logged as a quantity; else the tracker's own step."),
            None,
        ),
        "task": (_text("NAME", "The task: its name, or the key of the config that has it."), None),
        "total": (_text("KEY", "The planned number of steps: a key of the config, or the number itself."), None),
        "mapping": (Annotated[Path | None, mapping], None),
        "rebuild_lr": (Annotated[str, rebuild], "yes"),
        "name": (_text("PATTERN", only), None),
        "limit": (Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first N runs.")], None),
        "dry_run": (
            Annotated[bool, typer.Option("--dry-run", help="List the runs, show the mapping and stop.")],
            False,
        ),
        "as_json": (Annotated[bool, typer.Option("--json", help="Print the report as JSON.")], False),
    }


def _command(kind: Kind) -> Callable[..., None]:
    """A function with the right signature for Typer."""

    def command(**given: Any) -> None:
        _run(kind, given)

    parts = {"address": (Annotated[str, typer.Argument(metavar="ADDRESS", help=kind.address)], inspect.Parameter.empty)}
    parts |= {choice.keyword: _own(choice) for choice in kind.choices}
    parts |= _shared()
    command.__annotations__ = {name: annotation for name, (annotation, _) in parts.items()}
    signature = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in parts.items()
        ]
    )
    command.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return command


def _own(choice: Choice) -> tuple[Any, Any]:
    option = typer.Option(metavar=choice.metavar, help=choice.text, show_default=False)
    return Annotated[list[str] | None if choice.many else str | None, option], None


def _help(kind: Kind) -> str:
    examples = "\n".join(f"  lodestar import {kind.name} {words}" for words in kind.examples)
    return (
        f"{kind.title}\n\n{kind.details}\n\nWhich QUANTITY is the loss, the metric and the learning rate is guessed "
        "from the names over all runs, and shown. Run it again at any time: only runs that are new or have changed are "
        f"fetched. Runs that cannot be used are left out, with the reason.\n\n\b\nExamples:\n{examples}\n"
    )


def _run(kind: Kind, given: dict[str, Any]) -> None:
    from lodestar.importers import TrackerImport, open_tracker
    from lodestar.runs import RunStore

    for flag, allowed in (("direction", ("max", "min")), ("rebuild_lr", ("yes", "no"))):
        if given[flag] is not None and given[flag] not in allowed:
            hint = f"--{flag.replace('_', '-')}"
            raise typer.BadParameter(f"must be {' or '.join(allowed)}, got {given[flag]!r}", param_hint=hint)
    quiet = given["as_json"]
    own = {c.keyword: value for c in kind.choices if (value := given[c.keyword]) is not None}
    with _screen.progress("listing", None, quiet=quiet) as update:
        found = TrackerImport(
            open_tracker(kind.name, given["address"], **own),
            _choices(given),
            name=given["name"],
            limit=given["limit"],
            on_progress=lambda done, total, what: update(done, what),
        )
    if not quiet:
        title = f"{len(found.runs)} runs in {found.tracker.address}"
        show_guess(found.mapped.guess, title, what="quantity", counts=found.mapped.counts)
    if given["dry_run"]:
        given["to_fetch"] = found.look(RunStore(given["out"]))
    else:
        with _screen.progress("fetching", len(found.runs), quiet=quiet) as update:
            found.store(RunStore(given["out"]), on_progress=lambda done, total, what: update(done, what))
    _end(found, given)


def _end(found: Any, given: dict[str, Any]) -> None:
    dry = given["dry_run"]
    if given["as_json"]:
        store = None if dry else given["out"]
        quantities = {"quantities": dict(found.mapped.counts), "runs": len(found.runs)}
        _screen.show_json({**found.report.as_dict(), **quantities, "store": store})
    elif dry:
        show_plan(found.report, given["to_fetch"], given["out"])
    else:
        show_report(found.report, given["out"])
    if not dry and not found.report.imported and not found.report.unchanged:
        raise typer.Exit(1)


def _choices(given: dict[str, Any]) -> Any:
    """What the flags say, and below them the mapping file."""
    from lodestar.importers import Choices

    stated = Choices(**{role: given[role] for role in CHOICES}, rebuild_lr=given["rebuild_lr"] == "yes")
    if given["mapping"] is None:
        return stated
    from lodestar.importers.mapping_file import read_mapping

    return stated.over(read_mapping(given["mapping"]))
