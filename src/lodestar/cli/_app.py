"""The Typer app that all commands join, and how every error of ours is shown: one sentence, no traceback."""

import contextlib
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
USAGE_ERROR: Any = next(base for base in reversed(typer.BadParameter.__mro__) if hasattr(base, "format_message"))
"""What Typer raises for words it does not understand; Typer has it from one library or another, by its version."""
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class SentenceGroup(TyperGroup):
    """Shows a `LodestarError` from any command as one red sentence on stderr, and ends with exit code 1.

    Where `--json` was asked for, any error is a JSON object on stdout as well: whoever reads that finds out there.
    """

    _as_json = False

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        self._as_json = "--json" in args
        with self._errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with self._errors():
            return super().invoke(ctx)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except LodestarError as error:
            self._tell(type(error).__name__, str(error), 1)
            _screen.complain(str(error))
            raise typer.Exit(1) from error
        except USAGE_ERROR as error:
            self._tell("UsageError", error.format_message(), error.exit_code)
            raise

    def _tell(self, kind: str, message: str, code: int) -> None:
        if self._as_json:
            _screen.show_json({"error": {"kind": kind, "message": message, "exit_code": code}})


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
      lodestar plan forecaster.lodestar --steps N the best schedule for the next job
    """
    logger = logging.getLogger("lodestar")
    if not any(isinstance(handler, _LogToScreen) for handler in logger.handlers):
        logger.addHandler(_LogToScreen(logging.WARNING))


class _LogToScreen(logging.Handler):
    """The library's warnings, on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        _screen.warn(record.getMessage())
