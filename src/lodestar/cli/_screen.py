"""What the commands print with: people's output on stdout, JSON pure on stdout, everything else on stderr.

Texts from anywhere, such as runs' names, are never read as markup, control characters are made visible, and credentials
in an address are left out.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lodestar._credentials import cleaned

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text


def out(width: int | None = None) -> "Console":
    """The console for results, as wide as the terminal or as asked."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=width)


def err() -> "Console":
    """The console for everything else."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def safe(text: object, style: str = "", limit: int | None = None) -> "Text":
    """A text shown as it is: no markup, no escape codes; cut in the middle if longer than `limit`."""
    from rich.text import Text

    plain = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in cleaned(text))
    if limit is not None and len(plain) > limit:
        head = (limit - 1) * 2 // 3
        plain = f"{plain[:head]}…{plain[len(plain) - (limit - 1 - head) :]}"
    return Text(plain, style=style)


def say(text: object, style: str = "", limit: int | None = None) -> None:
    """A line of the result."""
    out().print(safe(text, style, limit))


def complain(sentence: str) -> None:
    err().print(safe(f"Error: {sentence}", "bold red"), soft_wrap=True)


def warn(sentence: str) -> None:
    err().print(safe(f"Warning: {sentence}", "yellow"), soft_wrap=True)


def table(*headings: str, title: str | None = None) -> "Table":
    """A plain table with headings; one that starts with '>' is of figures: set to the right, on one line, never cut."""
    from rich import box
    from rich.table import Table

    lines = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for heading in headings:
        figures = heading.startswith(">")
        lines.add_column(
            heading.removeprefix(">"), justify="right" if figures else "left", overflow="fold", no_wrap=figures
        )
    return lines


def width_of(lines: "Table") -> int:
    """The columns of the terminal that a table needs at least; what wraps, wraps as often as it can."""
    from rich.cells import cell_len
    from rich.measure import Measurement

    for column in lines.columns:
        if column.no_wrap:
            column.min_width = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
    console = out()
    return Measurement.get(console, console.options.update(width=10_000), lines).minimum


def show_table(lines: "Table") -> None:
    """A table, wider than the terminal rather than with a figure cut."""
    out(max(out().width, width_of(lines))).print(lines)


def show_json(data: object) -> None:
    """One JSON document on stdout; NaN and inf, which JSON lacks, become null."""
    sys.stdout.write(json.dumps(_plain(data), indent=2, ensure_ascii=True, allow_nan=False) + "\n")


def number(value: float | None, digits: int = 4) -> str:
    """A number for a table; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}g}"


def bars(*more: str, quiet: bool, transient: bool = False) -> "Progress":
    """Bars on stderr, on a terminal only; `more` are columns after the usual ones."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), *more)
    console = err()
    console.quiet = quiet or not console.is_terminal  # before Rich 14, bars that were never shown left an empty line
    return Progress(*columns, console=console, transient=transient, disable=console.quiet)


@contextmanager
def progress(what: str, total: int | None, *, quiet: bool = False) -> Iterator[Any]:
    """A bar on stderr while something lasts; yields `update(done, text)`."""
    with bars(quiet=quiet, transient=True) as bar:
        task = bar.add_task(what, total=total)

        def update(done: int, text: str = what) -> None:
            bar.update(task, completed=done, description=text)

        yield update


def _plain(data: object) -> object:
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_plain(value) for value in data]
    if isinstance(data, str):
        return cleaned(data)
    return None if isinstance(data, float) and not math.isfinite(data) else data
