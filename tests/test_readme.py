"""The README: what a stranger needs stands on the first screen, and it stays short."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
FIRST_SCREEN = "\n".join(README.splitlines()[:45])


def test_it_is_short():
    assert len(README.splitlines()) <= 150


def test_the_first_screen_has_all_to_begin_with():
    for part in ("](docs/pictures/", "make demo", "make test", "pip install -e '.[fit]'", "docs/tutorial.md"):
        assert part in FIRST_SCREEN


def test_the_first_screen_has_three_commands_and_three_lines_of_python():
    shell, python = (re.findall(rf"```{kind}\n(.*?)```", FIRST_SCREEN, flags=re.S) for kind in ("sh", "python"))
    assert len([line for block in shell for line in block.splitlines() if line.startswith("lodestar ")]) == 3
    assert [line.startswith("scheduler") for line in python[0].splitlines() if line and "import" not in line] == [
        True
    ] * 3


def test_it_says_when_not_to_use_it():
    assert "## Use it when" in README
    assert "## Don't use it when" in README
