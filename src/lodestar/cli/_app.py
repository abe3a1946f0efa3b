"""The Typer app that all commands join, and how every error of ours is shown: one sentence, no traceback.

Comes in: the list of command modules. Goes out: the app. Knows no command by name.
"""

import importlib
import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lodestar._errors import LodestarError
from lodestar.cli import _screen

GROUP = "lodestar.commands"
"""Entry points through which other packages add commands."""
Register = Callable[[typer.Typer], None]
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class SentenceGroup(TyperGroup):
    """Shows a `LodestarError` from any command as one red sentence on stderr, and ends with exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except LodestarError as error:
            _screen.complain(str(error))
            raise typer.Exit(1) from error


class DefaultGroup(TyperGroup):
    """A group whose first command runs when the first word names none: `import FILES` is `import table FILES`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command's name in front where it was left out."""
        if args and args[0] not in self.commands and args[0] not in SETTINGS["help_option_names"]:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def build(modules: Iterable[str], *, others: bool = True) -> typer.Typer:
    """The app with every command registered, in order; `others`: those of other packages as well."""
    order: list[str] = []

    class InOrder(SentenceGroup):
        """Lists commands in the order of registration, groups among them."""

        def list_commands(self, ctx: Any) -> list[str]:
            return sorted(super().list_commands(ctx), key=order.index)

    app = typer.Typer(
        cls=InOrder,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
    )
    app.callback()(_start)
    for register in (*_own(modules), *(_joined() if others else ())):
        register(app)
        entries = [*app.registered_commands, *app.registered_groups]
        order += [str(entry.name) for entry in entries if entry.name not in order]
    return app


def _own(modules: Iterable[str]) -> Iterator[Register]:
    for module in modules:
        yield importlib.import_module(module).register


def _joined() -> Iterator[Register]:
    """Commands of other packages; one that cannot be loaded costs a warning, not the command line."""
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: point.name):
        try:
            yield point.load()
        except Exception as error:  # noqa: BLE001  somebody else's package
            _screen.warn(f"the command {point.name!r} of {point.value} could not be loaded: {error!r}")


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("lodestar-lr"))
        raise typer.Exit()


def _start(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and end.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Lodestar steers the learning rate of a training job, with a forecaster fitted to your past runs.

    \b
    The way through:
      lodestar import logs/*.csv --out runs       bring past runs in
      lodestar doctor runs                        what is wrong or thin, and the cure
      lodestar fit runs -o forecaster.lodestar    fit a forecaster to them
      lodestar evaluate forecaster.lodestar runs  how good it is, on runs it never saw
    """
    logger = logging.getLogger("lodestar")
    if not any(isinstance(handler, _LogToScreen) for handler in logger.handlers):
        logger.addHandler(_LogToScreen(logging.WARNING))


class _LogToScreen(logging.Handler):
    """The library's warnings, on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one."""
        _screen.warn(record.getMessage())
