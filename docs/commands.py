"""Writes the reference of the commands from their own help, the same on every terminal.

    python docs/commands.py docs/reference/cli.md        the product alone, whatever else is installed
    python docs/commands.py docs/bench/cli.md bench      a command of another package, and those below it

Comes in: the app. Goes out: Markdown. A test compares it with the page in docs.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

WIDTH = 100


def commands(only: str | None = None) -> Iterator[tuple[str, Any, str]]:
    """Each command with its full name and its help as shown: the product's own, or `only` one and those below it."""
    from lodestar.cli import COMMANDS, app
    from lodestar.cli._app import build

    shown = build(COMMANDS, others=False) if only is None else app
    for name, command, text in _walk(typer.main.get_command(shown), "lodestar", None):
        if only is None or name.split()[1:2] == [only]:
            yield name, command, text


def reference(only: str | None = None) -> str:
    title = "The command line" if only is None else f"The command line: lodestar {only}"
    parts = [f"# {title}\n", "Written by `make docs` from the commands' own `--help`.\n"]
    parts += [f"## `{name}`\n\n```text\n{text}\n```\n" for name, _, text in commands(only)]
    if len(parts) == 2:
        raise ValueError(f"only must name a command of lodestar, got {only!r}. Fix: install the package that brings it")
    return "\n".join(parts)


def _walk(command: Any, name: str, parent: Any) -> Iterator[tuple[str, Any, str]]:
    last = name.split()[-1]
    context = command.context_class(
        command, info_name=last, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH, color=False
    )
    context.help_option_names = ["-h", "--help"]
    yield name, command, "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    for child in command.list_commands(context) if hasattr(command, "commands") else ():
        yield from _walk(command.commands[child], f"{name} {child}", context)


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python docs/commands.py PAGE.md [COMMAND]")
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(reference(*sys.argv[2:]), encoding="utf-8")


if __name__ == "__main__":
    main()
