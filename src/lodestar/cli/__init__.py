"""The command `lodestar`. Each command is a file here, and a line in `COMMANDS`.

Any other package may add commands: an entry point in the group `lodestar.commands` that names a function
`register(app)`. `lodestar bench` comes so, from the package lodestar-bench.

Comes in: words from the shell. Goes out: tables for people, or with `--json` one JSON document on stdout (everything
else on stderr), which for an error is an object with the one key `error`. Exit code 0: fine; 1: problems found, or an
error in one sentence; 2: wrong usage. Files here only parse and print; what they do lives elsewhere in the package, and
is imported when a command runs: `--help` is quick.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    app: typer.Typer

COMMANDS = {
    "import": "imports:group",
    "sweep": "sweep:sweep_command",
    "tune": "tune:tune_command",
    "runs": "runs:list_runs",
    "doctor": "doctor:doctor",
    "fit": "fit:fit_command",
    "show": "show:show_command",
    "forecast": "forecast:forecast_command",
    "what-if": "what_if:what_if_command",
    "plan": "plan:plan_command",
    "evaluate": "evaluate:evaluate_command",
    "explain": "explain:explain_command",
    "report": "report:report_command",
    "watch": "watch:watch_command",
    "control": "control:control_command",
}


def main() -> None:
    """What the console script calls."""
    import sys

    from lodestar._errors import MissingExtra
    from lodestar._extras import need

    try:
        need("typer", "cli")
        need("rich", "cli")
    except MissingExtra as error:
        sys.exit(str(error))
    from lodestar.cli import app

    app()


def __getattr__(name: str) -> object:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lodestar.cli._app import build

    globals()["app"] = build(COMMANDS)
    return globals()["app"]
