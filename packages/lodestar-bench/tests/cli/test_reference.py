"""The page on `lodestar bench` in docs is what its commands say of themselves."""

from pathlib import Path

from docs.commands import commands, reference

PAGE = Path(__file__).parents[4] / "docs" / "bench" / "cli.md"


def words(text: str) -> str:
    """The text without its line breaks, which differ between versions of Typer."""
    return " ".join(text.split())


def test_the_page_in_docs_is_fresh():
    """Cure: `make docs`."""
    page = words(PAGE.read_text(encoding="utf-8"))
    for name, command, _ in commands("bench"):
        assert f"## `{name}`" in page
        assert all(words(part) in page for part in (command.help or "").replace("\b", "").split("\n\n"))
        assert all(
            words(parameter.help) in page for parameter in command.params if parameter.help and parameter.name != "help"
        )


def test_it_holds_the_bench_and_nothing_else():
    headings = {line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")}
    assert headings == {line for line in reference("bench").splitlines() if line.startswith("## ")}
    assert all(heading.startswith("## `lodestar bench") for heading in headings)
