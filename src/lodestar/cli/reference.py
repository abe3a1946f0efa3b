"""Writes docs/cli.md from the commands' own help: `python -m lodestar.cli.reference docs/cli.md`.

Comes in: the app. Goes out: Markdown, the same on every terminal. A test compares it with the file in docs.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

WIDTH = 100


def commands(app: typer.Typer) -> Iterator[tuple[str, Any, str]]:
    """Each command with its full name and its help as shown, the app itself first."""
    return _walk(typer.main.get_command(app), "lodestar", None)


def reference(app: typer.Typer) -> str:
    """The whole page."""
    parts = ["# The command line\n", "Written by `make docs` from the commands' own `--help`.\n"]
    for name, _, text in commands(app):
        parts.append(f"## `{name}`\n\n```text\n{text}\n```\n")
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
    """Write the page to the path given."""
    from lodestar.cli import app

    if len(sys.argv) != 2:
        sys.exit("usage: python -m lodestar.cli.reference docs/cli.md")
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(reference(app), encoding="utf-8")


if __name__ == "__main__":
    main()
