"""Writes a page: sections in, one HTML file out, with the style, the renderer and all data inside.

The file asks the network for nothing and its own security policy forbids it to; only the renderer, known by its hash,
may run, so that no text of a run can. Light and dark follow the system until the reader chooses.
"""

import base64
import hashlib
import importlib.resources
import json
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from lodestar import __version__, _disk
from lodestar._errors import StoreError
from lodestar.report.html.blocks import Block, Cell, Details, Download, KeyFigures, Notes, Section, Table, Text
from lodestar.report.html.chart import Chart

PROSE = 60  # a last column with longer texts than this is prose
SCRIPTS = ("scale.js", "draw.js", "hover.js", "chart.js")  # the renderer


def write_page(path: str | os.PathLike[str], title: str, sections: Sequence[Section], lead: str = "") -> Path:
    """Write the page, whole or not at all; returns its path."""
    target = Path(path)
    try:
        _disk.make_folder(target.parent)
    except OSError as error:
        raise StoreError(_disk.cannot_write(target, error)) from error
    _disk.write_whole(target, page(title, sections, lead).encode("utf-8", "replace"))
    return target


def page(title: str, sections: Sequence[Section], lead: str = "") -> str:
    """The page as text."""
    if not sections:
        raise ValueError("sections must hold at least one section, got none")
    script = renderer("page.js", "theme.js")
    links = "".join(f'<a href="#part-{i}">{_text(part.title)}</a>' for i, part in enumerate(sections))
    parts = "".join(
        f'<section id="part-{i}"><h2>{_text(part.title)}</h2>{_blocks(part.blocks)}</section>'
        for i, part in enumerate(sections)
    )
    intro = f'<p class="lead">{_text(lead)}</p>' if lead else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="generator" content="lodestar {_text(__version__)}">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{_text(title)}</title><style>{asset('style.css')}</style></head><body>"
        f'<header><nav><b class="brand">Lodestar</b><div class="links">{links}</div>'
        '<button id="theme" type="button" aria-label="light or dark">◐</button></nav></header>'
        f"<main><h1>{_text(title)}</h1>{intro}{parts}</main>"
        f"<footer>Made by Lodestar {_text(__version__)}. This file is complete: it needs no network.</footer>"
        f'<div id="tip" role="status" hidden></div><script>{script}</script></body></html>'
    )


def _blocks(blocks: Iterable[Block]) -> str:
    """Blocks in order; charts that follow one another share a grid."""
    parts: list[str] = []
    charts: list[str] = []
    for block in blocks:
        if isinstance(block, Chart):
            charts.append(_chart(block))
            continue
        parts += [_grid(charts), _block(block)]
        charts = []
    return "".join([*parts, _grid(charts)])


def _grid(charts: Sequence[str]) -> str:
    return f'<div class="charts">{"".join(charts)}</div>' if charts else ""


def _block(block: Text | Notes | KeyFigures | Table | Details | Download) -> str:
    if isinstance(block, Text):
        return f'<p class="{block.tone}">{_text(block.text)}</p>'
    if isinstance(block, Notes):
        return _notes(block)
    if isinstance(block, KeyFigures):
        found = "".join(
            f"<div><b>{_text(figure)}</b><span>{_text(what)}</span></div>" for figure, what in block.figures
        )
        return f'<div class="facts">{found}</div>'
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Download):
        return _download(block)
    state = " open" if block.open else ""
    return f"<details{state}><summary>{_text(block.title)}</summary>{_blocks(block.blocks)}</details>"


def _notes(block: Notes) -> str:
    lines = []
    for tag, sentence, after in block.lines:
        mark = f'<span class="tag {block.tones.get(tag, "")}">{_text(tag)}</span> ' if tag else ""
        more = f"<small>{_text(after)}</small>" if after else ""
        lines.append(f"<li>{mark}{_text(sentence)}{more}</li>")
    return f'<ul class="notes">{"".join(lines)}</ul>'


def _table(table: Table) -> str:
    sides = ["right" if heading.startswith(">") else "left" for heading in table.headings]
    heads = zip(sides, table.headings, strict=True)
    top = "".join(
        f'<th class="{side}" scope="col"><button type="button">{_text(head.removeprefix(">"))}</button></th>'
        for side, head in heads
    )
    rows = [
        f"<tr{' hidden' if i >= table.most else ''}>{_cells(table, sides, row)}</tr>"
        for i, row in enumerate(table.rows)
    ]
    more = f'<button class="more" type="button">Show all {len(rows)} rows</button>' if len(rows) > table.most else ""
    below = f'<p class="faint">{_text(table.caption)}</p>' if table.caption else ""
    body = f"<thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table class="{"prose" if _prose(table) else ""}">{body}</table></div>{more}{below}'


def _cells(table: Table, sides: Sequence[str], row: Sequence[str | Cell]) -> str:
    """Where the last column is prose, a phone shows each row as a card, so every cell knows its heading."""
    found = []
    for side, head, cell in zip(sides, table.headings, row, strict=True):
        one = cell if isinstance(cell, Cell) else Cell(cell)
        label = f' data-head="{_text(head.removeprefix(">"))}"' if _prose(table) else ""
        hint = f' title="{_text(one.hint)}"' if one.hint else ""
        found.append(f'<td class="{f"{side} {one.tone}".strip()}"{label}{hint}>{_text(one.text)}</td>')
    return "".join(found)


def _prose(table: Table) -> bool:
    texts = [cell.text if isinstance(cell, Cell) else cell for cell in (row[-1] for row in table.rows)]
    return bool(texts) and not table.headings[-1].startswith(">") and max(map(len, texts)) > PROSE


def _download(block: Download) -> str:
    data = base64.b64encode(block.content.encode()).decode()
    href = f"data:{_text(block.kind)};base64,{data}"
    return f'<p><a download="{_text(block.filename)}" href="{href}">{_text(block.title)}</a></p>'


def _chart(chart: Chart) -> str:
    caption = f"<p>{_text(chart.caption)}</p>" if chart.caption else ""
    return (
        f'<figure class="chart{" full" if chart.wide else ""}"><figcaption>{_text(chart.title)}</figcaption>'
        f'<div class="plot" style="height:{int(chart.height)}px" role="img" aria-label="{_text(chart.title)}"></div>'
        f'<div class="legend"></div>{caption}<script type="application/json">{_json(chart.as_data())}</script></figure>'
    )


def _text(text: object) -> str:
    """Text for HTML: nothing in it is markup, and what cannot be seen is made visible."""
    plain = "".join(c if c.isprintable() or c in "\n " else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return escape(plain)


def _json(data: object) -> str:
    """JSON that can stand inside a script element: no sign in it can end one."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def renderer(*names: str, extra: str = "") -> str:
    """The script that draws charts, with more text and more files of this folder behind it."""
    parts = [*map(asset, SCRIPTS), extra, *map(asset, names)]
    return '(()=>{"use strict";\n' + "\n".join(parts) + "\n})();"


def digest(script: str) -> str:
    """What a security policy knows a script or a style by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _policy(script: str) -> str:
    known = f"script-src 'sha256-{digest(script)}'"
    return f"default-src 'none';style-src 'unsafe-inline';{known};base-uri 'none';form-action 'none'"


def asset(name: str) -> str:
    """A file of this folder."""
    return (importlib.resources.files("lodestar.report.html") / name).read_text("utf-8")
