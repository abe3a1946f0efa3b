"""Every command has help with an example, every option says what it does, and docs/cli.md is fresh."""

from pathlib import Path

import pytest

from lodestar.cli import app
from lodestar.cli.reference import commands, reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
FOUND = {name: (command, text) for name, command, text in commands(app)}
LEAVES = [name for name, (command, _) in FOUND.items() if not hasattr(command, "commands")]


def words(text: str) -> str:
    """The text without its line breaks, which differ between versions of Typer."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", FOUND)
def test_a_command_has_help(name):
    assert len((FOUND[name][0].help or "").split()) >= 5


@pytest.mark.parametrize("name", LEAVES)
def test_a_command_shows_an_example(name):
    assert f"{name.replace('import table', 'import')} " in FOUND[name][1].split("Example", 1)[-1]


@pytest.mark.parametrize("name", LEAVES)
def test_every_option_says_what_it_does(name):
    silent = [p.name for p in FOUND[name][0].params if not getattr(p, "help", None) and p.name != "help"]
    assert silent == []


@pytest.mark.parametrize("name", FOUND)
def test_the_page_in_docs_is_fresh(name):
    """Cure: `make docs`."""
    command, _ = FOUND[name]
    page = words(PAGE.read_text(encoding="utf-8"))
    assert f"## `{name}`" in page
    for paragraph in (command.help or "").replace("\b", "").split("\n\n"):
        assert words(paragraph) in page
    for parameter in command.params:
        if parameter.name != "help":
            assert words(parameter.help) in page
            assert all(flag in page for flag in getattr(parameter, "opts", []) if flag.startswith("-"))


def test_the_page_has_no_command_that_is_gone():
    headings = {line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")}
    assert headings == {line for line in reference(app).splitlines() if line.startswith("## ")}
