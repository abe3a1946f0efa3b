"""Tables into runs in one call: the engine with a `TableReader`.

Comes in: files and which column is which. Goes out: a `RunImport` to look at first; runs in memory; or a store.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from lodestar.importers.choices import Choices
from lodestar.importers.importing import RunImport
from lodestar.importers.readers.table import TableReader
from lodestar.importers.report import ImportReport
from lodestar.runs.runset import RunSet
from lodestar.runs.store import RunStore

OnRows = Callable[[int, int, int], None]
"""Called with (files read, files in all, rows read)."""


def open_tables(
    paths: Iterable[str | Path],
    *,
    run: str | None = None,
    status: str | None = None,
    layout: str = "auto",
    on_rows: OnRows | None = None,
    **choices: str | None,
) -> RunImport:
    """Files whose headers and runs have been looked at, and not yet their values. `choices` are those of `Choices`.

    A learning rate that is not in the table stays unknown: tables seldom state a whole config.
    """
    reader = TableReader(paths, run=run, status=status, layout=layout, on_rows=on_rows)
    return RunImport(reader, Choices(**choices, rebuild_lr=False))  # pyright: ignore[reportArgumentType]


def read_tables(paths: Iterable[str | Path], **options: str | None) -> tuple[RunSet, ImportReport]:
    """All runs of some files in memory. Options as for `open_tables`."""
    opened = open_tables(paths, **options)  # pyright: ignore[reportArgumentType]
    return RunSet(opened.read()), opened.report


def import_tables(paths: Iterable[str | Path], store: RunStore, **options: str | None) -> ImportReport:
    """Read files into a store; runs already there under the same name are replaced, and the report says so."""
    return open_tables(paths, **options).store(store)  # pyright: ignore[reportArgumentType]
