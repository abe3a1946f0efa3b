"""`lodestar import`: past runs into a store; the group, and one command for each reader, all made from the registry.

The commands differ in their address and in the few options of their own. `table` is meant when no kind is named.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from lodestar.cli import _screen
from lodestar.cli._app import SETTINGS
from lodestar.cli._import_screen import say_merged, show_guess, show_plan, show_report, show_scale
from lodestar.importers.registry import READERS, ReaderEntry, ReaderOption
from lodestar.runs.scale import FACTS

ALIASES = {"csv": "table"}
CHOICES = ("loss", "metric", "direction", "lr", "step", "task", "total", "schedule", "peak_lr", "seed")
_SAME_EVERYWHERE = (
    "Which QUANTITY is the loss, the metric and the learning rate is guessed from the names over all runs, and shown. "
    "Run it again at any time: only runs that are new or have changed are fetched. Runs that cannot be used are left "
    "out, with the reason.\n\n"
)


class ImportGroup(TyperGroup):
    """`import FILES` is `import table FILES`, and so is `import csv FILES`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in ALIASES:
            args = [ALIASES[args[0]], *args[1:]]
        elif args and args[0] not in (*self.commands, *SETTINGS["help_option_names"]):
            args = ["table", *args]
        return super().parse_args(ctx, args)


group = typer.Typer(cls=ImportGroup, no_args_is_help=True, rich_markup_mode=None, context_settings=SETTINGS)


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


def _option(metavar: str, what: str, annotation: Any = str | None) -> Any:
    return Annotated[annotation, Option(metavar=metavar, help=what, show_default=False)]


def _shared(entry: ReaderEntry) -> dict[str, tuple[Any, Any]]:
    """The options that every reader has: name -> annotation, default."""
    quantity, key = entry.noun.upper(), "COLUMN" if entry.files else "KEY"
    a_key = "the column" if entry.files else "the key of the config"
    step = "; epochs if there is none" if entry.files else ", where it was logged; else the tracker's own step"
    lr = "" if entry.files else ": the parameter group to follow"
    out = Option("--out", "-o", metavar="STORE", help="The store to write to (a folder, s3://...); made if missing.")
    mapping = 'A TOML file with these choices: metric = "val/acc"; see docs/how-to/trackers.'
    fact = (
        f"What tells a run's scale: {', '.join(FACTS)}, and {a_key} that has it (--fact width=hidden_size), or the "
        "number itself; 'none': there is none. May be repeated."
    )
    rebuild = "Rebuild an lr that was not logged from the config, where that is certain."
    only = "Only runs of this name; * and ? stand for anything (in quotes: 'lr-*')."
    look = "List the runs, show the mapping and stop."
    return {
        "out": (Annotated[str, out], inspect.Parameter.empty),
        "loss": (_option(quantity, "The training loss."), None),
        "metric": (_option(quantity, "The validation metric; 'none': there is none."), None),
        "direction": (_option("max|min", "Which metric is better."), None),
        "lr": (_option(quantity, f"The learning rate{lr}; 'none': there is none."), None),
        "step": (_option(quantity, f"The optimizer step{step}."), None),
        "task": (_option("NAME", f"The task: its name, or {a_key} that has it."), None),
        "total": (_option(key, f"The planned number of steps: {a_key}, or the number itself."), None),
        "schedule": (_option(key, "The schedule's name."), None),
        "peak_lr": (_option(key, "The schedule's peak learning rate."), None),
        "seed": (_option(key, "The seed."), None),
        "fact": (_option(f"NAME={key}", fact, list[str] | None), None),
        "mapping": (_option("FILE", mapping, Path | None), None),
        "rebuild_lr": (Annotated[str, Option(metavar="yes|no", help=rebuild)], "no" if entry.files else "yes"),
        "name": (_option("PATTERN", only), None),
        "limit": (Annotated[int | None, Option(metavar="N", min=1, help="Only the first N runs.")], None),
        "dry_run": (Annotated[bool, Option("--dry-run", help=look)], False),
        "as_json": (Annotated[bool, Option("--json", help="Print the report as JSON.")], False),
    }


def _own(option: ReaderOption) -> tuple[Any, Any]:
    if option.allowed:
        return Annotated[str, Option(metavar=option.metavar, help=option.text)], option.allowed[0]
    return _option(option.metavar, option.text, list[str] | None if option.many else str | None), None


def _command(entry: ReaderEntry) -> Callable[..., None]:
    """A function with the right signature for Typer."""

    def command(**given: Any) -> None:
        _run(entry, given)

    address = Argument(metavar="FILES" if entry.files else "ADDRESS", help=entry.address)
    parts = {"address": (Annotated[list[Path] if entry.files else str, address], inspect.Parameter.empty)}
    parts |= {option.keyword: _own(option) for option in entry.choices}
    parts |= _shared(entry)
    command.__annotations__ = {name: annotation for name, (annotation, _) in parts.items()}
    signature = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in parts.items()
        ]
    )
    command.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return command


def _help(entry: ReaderEntry) -> str:
    name = "" if entry.files else f"{entry.name} "
    examples = "\n".join(f"  lodestar import {name}{words}" for words in entry.examples)
    also = "" if entry.files else _SAME_EVERYWHERE
    return f"{entry.title}\n\n{entry.details}\n\n{also}\b\nExamples:\n{examples}\n"


def _run(entry: ReaderEntry, given: dict[str, Any]) -> None:
    from lodestar.importers import RunImport, open_reader
    from lodestar.runs import RunStore

    _check(entry, given)
    quiet = given["as_json"]
    own = {option.keyword: value for option in entry.choices if (value := given[option.keyword]) is not None}
    with _screen.progress("listing", None, quiet=quiet) as update:
        found = RunImport(
            open_reader(entry.name, given["address"], **own),
            _choices(given),
            name=given["name"],
            limit=given["limit"],
            on_progress=lambda done, total, what: update(done, what),
        )
    if not quiet:
        _show(entry, found)
        show_scale(found.report.scale, "COLUMN" if entry.files else "KEY")
    say_merged(found.reader)
    if given["dry_run"]:
        given["to_fetch"] = found.look(RunStore(given["out"]))
    else:
        with _screen.progress("fetching", len(found.runs), quiet=quiet) as update:
            found.store(RunStore(given["out"]), on_progress=lambda done, total, what: update(done, what))
    _end(found, given)


def _check(entry: ReaderEntry, given: dict[str, Any]) -> None:
    words = {"direction": ("max", "min"), "rebuild_lr": ("yes", "no")}
    for flag, allowed in (words | {option.keyword: option.allowed for option in entry.choices}).items():
        if allowed and given[flag] is not None and given[flag] not in allowed:
            hint = f"--{flag.replace('_', '-')}"
            raise typer.BadParameter(f"must be {' or '.join(allowed)}, got {given[flag]!r}", param_hint=hint)


def _show(entry: ReaderEntry, found: Any) -> None:
    guess = found.mapped.guess
    if entry.files:
        show_guess(guess, f"Columns ({guess.layout} table)")
    else:
        title = f"{len(found.runs)} runs in {found.reader.address}"
        show_guess(guess, title, what=entry.noun, counts=found.mapped.counts)


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

    roles = {role: given[role] for role in CHOICES}
    stated = Choices(**roles, rebuild_lr=given["rebuild_lr"] == "yes", facts=_facts(given["fact"] or []))
    if given["mapping"] is None:
        return stated
    from lodestar.importers.mapping_file import read_mapping

    return stated.over(read_mapping(given["mapping"]))


def _facts(given: list[str]) -> dict[str, str] | None:
    """What `--fact NAME=KEY` says, checked."""
    facts: dict[str, str] = {}
    for text in given:
        name, sign, key = (part.strip() for part in text.partition("="))
        if name not in FACTS or not sign or not key:
            rule = f"must be NAME=KEY with NAME one of {', '.join(FACTS)}"
            raise typer.BadParameter(f"{rule}, got {text!r}, as in width=hidden_size", param_hint="--fact")
        if facts.get(name, key) != key:
            raise typer.BadParameter(f"says both {name}={facts[name]} and {name}={key}", param_hint="--fact")
        facts[name] = key
    return facts or None


for _entry in READERS.values():
    group.command(_entry.name, help=_help(_entry))(_command(_entry))
