"""The site builds, its links lead somewhere, and what it shows exists: commands, options, imports, settings."""

import ast
import dataclasses
import functools
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import LOOSE, PAGES, ROOT, SITE, anchors, blocks, commands, links, name, prose

from lodestar.cli import app
from lodestar.fitting.settings import fit_settings
from lodestar.scheduler.safety.gate import Gate
from lodestar.scheduler.settings import PRESETS

EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.name not in ("demo.py", "digits.py"))


FETCHED = re.compile(r'<(?:link|script|img|iframe)[^>]+(?:href|src)="(?:https?:)?//[^"]+"')


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built strictly: a broken link, anchor, snippet or name of the API is an error."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": ""}
    done = subprocess.run(words, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_page(site):
    made = {str(page.relative_to(site).with_suffix("")) for page in site.rglob("*.html")}
    assert {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in SITE} <= made


def test_the_site_asks_the_network_for_nothing(site):
    for page in site.rglob("*.html"):
        fetched = re.findall(
            r'<(?:link|script|img|iframe)[^>]+(?:href|src)="(?:https?:)?//[^"]+"', page.read_text("utf-8")
        )
        assert fetched == [], page


def test_the_search_works_offline(site):
    assert (site / "search" / "search_index.js").exists()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for link in links(page):
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{name(page)} links to {link}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{name(page)} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_shown_exist(page):
    for words in commands(page):
        check_command(words)


@functools.cache
def root_command() -> Any:
    """`lodestar` with all that is below it."""
    import typer

    return typer.main.get_command(app)


def check_command(words: list[str]) -> None:
    """Fail unless the words name a command and options it has."""
    command = root_command()
    context = command.make_context("lodestar", [], resilient_parsing=True)
    while hasattr(command, "commands"):
        if not words or words[0] in ("--help", "-h", "--version", "..."):
            return
        if words[0] not in command.commands:
            assert context.info_name == "import", f"there is no command {' '.join(words)!r}"
            words = ["table", *words]
        command = command.commands[words[0]]
        context = command.context_class(command, info_name=words[0], parent=context)
        words = words[1:]
    known = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert given <= known | {"--help", "-h"}, f"{context.info_name} has no {given - known}"


def test_a_command_that_is_gone_is_noticed():
    with pytest.raises(AssertionError, match="no command 'dream runs'"):
        check_command(["dream", "runs"])
    with pytest.raises(AssertionError, match=r"fit has no \{'--dream'\}"):
        check_command(["fit", "runs", "--dream", "3"])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_shown_compiles_and_imports_what_exists(page):
    for block in blocks(page):
        if block.kind == "python":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                tree = ast.parse(block.text, filename=name(page))
            for node in ast.walk(tree):
                check_import(node)


def check_import(node: ast.AST) -> None:
    """Fail unless what a statement imports from Lodestar is there. Nothing is imported: frameworks are slow."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            ours = alias.name.split(".")[0] in ("lodestar", "lodestar_bench")
            assert not ours or source_of(alias.name) is not None, f"there is no module {alias.name}"
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("lodestar", "lodestar_bench"):
        source = source_of(str(node.module))
        assert source is not None, f"there is no module {node.module}"
        for alias in node.names:
            inner = source_of(f"{node.module}.{alias.name}")
            assert alias.name in bound(source) or inner is not None, f"{node.module} has no {alias.name}"


def source_of(module: str) -> Path | None:
    """The file of a module of ours, or None."""
    for folder in (ROOT / "src", ROOT / "packages" / "lodestar-bench" / "src"):
        path = folder.joinpath(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return file
    return None


def bound(source: Path) -> set[str]:
    """The names a module binds, wherever at its top they stand."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Dict):  # names that are fetched when first used stand in a table
            names |= {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return names


def test_an_import_that_is_gone_is_noticed():
    with pytest.raises(AssertionError, match=r"lodestar\.scheduler has no Dream"):
        check_import(ast.parse("from lodestar.scheduler import Dream").body[0])


def test_every_example_is_embedded_in_the_docs():
    embedded = {path for page in SITE for block in blocks(page) for path in block.embeds}
    assert embedded == {f"examples/{path.name}" for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_an_example_is_at_most_40_lines(path):
    assert len(path.read_text().splitlines()) <= 40


def rows(heading: str) -> dict[str, list[str]]:
    """The tables under a heading of the page of settings: a setting's name, its cells."""
    text = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    section = re.split(r"^## ", text, flags=re.M)
    part = next(part for part in section if part.startswith(heading + "\n"))
    found = re.findall(r"^\| `(\w+)` \| (.+) \|$", part, flags=re.M)
    return {setting: [cell.strip(" `") for cell in cells.split(" | ")] for setting, cells in found}


def shown(heading: str, presets: int) -> dict[str, tuple[Any, ...]]:
    """The values the page shows, and that each has a word of explanation."""
    found = {setting: cells for setting, cells in rows(heading).items() if len(cells) == presets + 1}
    assert all(len(cells[-1]) > 10 or cells[-1] == "precision" for cells in found.values())
    return {setting: tuple(ast.literal_eval(cell) for cell in cells[:-1]) for setting, cells in found.items()}


def test_the_scheduler_s_settings_are_those_of_the_code():
    fields = [field.name for field in dataclasses.fields(PRESETS["default"])]
    expected = {f: (getattr(PRESETS["default"], f), getattr(PRESETS["paper"], f)) for f in fields}
    assert shown("The scheduler", 2) == expected


def test_the_gate_s_settings_are_those_of_the_code():
    assert shown("Gate", 1) == {field.name: (field.default,) for field in dataclasses.fields(Gate)}


def test_the_fit_s_settings_are_those_of_the_code():
    both = []
    for preset in ("default", "paper"):
        plain = fit_settings(preset)
        both.append(plain.architecture.to_dict() | {k: v for k, v in plain if k != "architecture"})
    assert shown("The fit", 2) == {setting: (both[0][setting], both[1][setting]) for setting in both[0]}


def test_pictures_are_small():
    for path in (ROOT / "docs" / "pictures").iterdir():
        most = 400_000 if path.suffix == ".gif" else 150_000
        assert path.stat().st_size <= most, path


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "LOG.md"], ids=name)
def test_no_line_installs_from_an_index_we_are_not_on(page):
    assert not re.search(r"pip install (--upgrade )?'?lodestar", page.read_text("utf-8"))


PRIVATE = re.compile(r"\b(redraw\w*|set aside|gears?|shelf|shelves|optimis\w+|opened with)\b", re.I)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_words_are_those_of_the_field(page):
    assert PRIVATE.findall(prose(page)) == []


def test_make_targets_named_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for page in LOOSE:
        named = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(b.text for b in blocks(page)) + prose(page)))
        assert {word for word in named if f"`make {word}`" in prose(page) or word in targets} <= targets
