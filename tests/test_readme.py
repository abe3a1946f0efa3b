"""The README and the docs say what is true."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.name not in ("demo.py", "digits.py"))


def test_the_two_commands_are_on_the_first_screen():
    first = "\n".join(README.splitlines()[:30])
    assert "make demo" in first
    assert "make test" in first


def test_every_example_is_shown_as_it_is():
    embed = runpy.run_path(str(ROOT / "docs" / "embed_examples.py"))
    assert embed["embedded"](README) == README, "run make docs"
    assert set(embed["SHOWN"].values()) == {path.name for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_an_example_is_at_most_40_lines(path):
    assert len(path.read_text().splitlines()) <= 40


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{page} links to {target}"


def test_make_targets_named_in_the_docs_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"\bmake ([a-z]+)\b", (ROOT / page).read_text()))
        assert named <= targets, named - targets
