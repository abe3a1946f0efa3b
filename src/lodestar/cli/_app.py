"""The Typer app that all commands join, and how every error of ours is shown: one sentence, no traceback."""

import importlib
import importlib.metadata
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from lodestar._errors import LodestarError
from lodestar.cli import _screen

GROUP = "lodestar.commands"
"""Entry points through which other packages add commands."""
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class SentenceGroup(TyperGroup):
    """Shows a `LodestarError` from any command as one red sentence on stderr, and ends with exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except LodestarError as error:
            _screen.complain(str(error))
            raise typer.Exit(1) from error


def build(commands: Mapping[str, str], *, others: bool = True) -> typer.Typer:
    """The app with every command registered, in order; `others`: those of other packages as well, at the end."""
    order = list(commands)

    class InOrder(SentenceGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            names = super().list_commands(ctx)
            return sorted(names, key=lambda name: order.index(name) if name in order else len(order))

    app = typer.Typer(
        cls=InOrder,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
    )
    app.callback()(_start)
    for name, home in commands.items():
        module, attribute = home.split(":")
        command = getattr(importlib.import_module(f"lodestar.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    for register in _joined() if others else ():
        register(app)
    return app


def _joined() -> Iterator[Callable[[typer.Typer], None]]:
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
        bool, Option("--version", help="Show the version and end.", is_eager=True, callback=_show_version)
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
        _screen.warn(record.getMessage())
