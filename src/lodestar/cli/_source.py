"""Where a command's RUNS come from: a store, or a table that could be imported; always streamed, as often as needed."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lodestar.cli import _screen
from lodestar.cli._import_screen import say_merged

if TYPE_CHECKING:
    from lodestar.runs.run import Run


@dataclasses.dataclass(frozen=True)
class RunSource:
    """Runs to iterate over, again and again, without holding them all."""

    start: "Callable[[], Iterator[Run]]"
    total: int | None
    wanted: "Callable[[Run], bool] | None" = None

    def __iter__(self) -> "Iterator[Run]":
        return self.start() if self.wanted is None else filter(self.wanted, self.start())

    def keep(self, wanted: "Callable[[Run], bool]") -> "RunSource":
        return dataclasses.replace(self, wanted=wanted, total=None)


def table_at(where: str) -> Path | None:
    """The table, or the folder of tables, at `where`; None if that is a store, an address, or nothing yet."""
    from lodestar.runs.folder import is_address
    from lodestar.runs.store import RunStore

    path = Path(where)
    if is_address(where):
        return None
    is_table = path.is_file() or (path.is_dir() and not RunStore(path).exists() and any(path.iterdir()))
    return path if is_table else None


def open_runs(where: str, *, skip_damaged: bool = False) -> RunSource:
    """The runs at a path, or at an address such as s3://bucket/runs."""
    from lodestar.runs.store import RunStore

    table = table_at(where)
    if table is not None:
        return RunSource(_Table(table), None)
    store = RunStore.open(where)
    return RunSource(lambda: store.iter(skip_damaged=skip_damaged), len(store.list(skip_damaged=skip_damaged)))


class _Table:
    """A table read anew for each pass; what had to be left out is said after the first."""

    def __init__(self, path: Path):
        self._path = path
        self._told = False

    def __call__(self) -> "Iterator[Run]":
        from lodestar.importers.tables import open_tables

        table = open_tables([self._path])
        if not self._told:
            say_merged(table.reader)
        yield from table.read()
        if table.report.left_out and not self._told:
            name, reason = table.report.left_out[0]
            more = f", and {len(table.report.left_out) - 1} more" if len(table.report.left_out) > 1 else ""
            _screen.warn(f"left out of {self._path}: {_screen.safe(name, limit=48).plain} ({reason}){more}")
        self._told = True
