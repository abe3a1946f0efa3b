"""The pages people read, and what is shown on them: fenced blocks, commands, links."""

import dataclasses
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOOSE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "packages/lodestar-bench/README.md")]
SITE = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*LOOSE, *SITE]

_FENCE = re.compile(
    r"^(?P<indent>[ ]*)```(?:[ ]?\{ \.)?(?P<kind>[a-z]*)[^\n`]*\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
_SNIPPET = re.compile(r'^\s*--8<-- "(?P<path>[^"]+)"\s*$', re.M)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block, with the files it embeds put in."""

    kind: str
    text: str
    embeds: tuple[str, ...]


def name(path: Path) -> str:
    """A page's path from the root, for test ids."""
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page."""
    found = []
    for match in _FENCE.finditer(path.read_text(encoding="utf-8")):
        text = textwrap.dedent(match["text"])
        embeds = tuple(part["path"] for part in _SNIPPET.finditer(text))
        whole = _SNIPPET.sub(lambda part: (ROOT / part["path"]).read_text(encoding="utf-8"), text)
        found.append(Block(match["kind"], whole, embeds))
    return found


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def links(path: Path) -> Iterator[str]:
    """Where a page's links lead, those to the web left out."""
    for match in _LINK.finditer(prose(path)):
        if not match["target"].startswith(("http:", "https:", "mailto:")):
            yield match["target"]


def commands(path: Path) -> Iterator[list[str]]:
    """The words after `lodestar` of every command shown, in fenced blocks and in the prose."""
    for block in blocks(path):
        if block.kind in ("sh", "bash", "console"):
            for line in block.text.replace("\\\n", " ").splitlines():
                yield from _after_lodestar(line)
    for code in re.findall(r"`(lodestar [^`]+)`", prose(path)):
        yield from _after_lodestar(code)


def _after_lodestar(line: str) -> Iterator[list[str]]:
    words = shlex.split(line, comments=True)
    if "lodestar" in words:
        yield words[words.index("lodestar") + 1 :]


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as Markdown renderers make them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
