"""Every command has help with an example, every option says what it does, and the page in docs is fresh."""

import subprocess
import sys
from pathlib import Path

import pytest
from docs.commands import commands, reference

from lodestar.cli import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "cli.md"
FOUND = {name: (command, text) for name, command, text in commands()}
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
    assert headings == {line for line in reference().splitlines() if line.startswith("## ")}


def test_the_page_holds_the_products_own_commands_whatever_else_is_installed():
    first = {name.split()[1] for name in FOUND if " " in name}
    assert len(first) == len(COMMANDS)
    assert "bench" not in first


def test_a_command_that_is_not_there_is_an_error_with_a_cure():
    with pytest.raises(ValueError, match=r"got 'nothing'. Fix"):
        reference("nothing")


def test_it_is_written_from_the_shell(tmp_path):
    words = [sys.executable, str(DOCS / "commands.py"), str(tmp_path / "new" / "cli.md")]
    subprocess.run(words, check=True)
    assert (tmp_path / "new" / "cli.md").read_text("utf-8") == reference()
    assert subprocess.run(words[:2], capture_output=True).returncode == 1
