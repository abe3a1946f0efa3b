"""Where a command's RUNS come from: a store, or a table that could be imported; always streamed, as often as needed."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lodestar.cli import _screen

if TYPE_CHECKING:
    from lodestar.runs.run import Run


@dataclasses.dataclass(frozen=True)
class Source:
    """Runs to iterate over, again and again, without holding them all."""

    start: "Callable[[], Iterator[Run]]"
    total: int | None
    wanted: "Callable[[Run], bool] | None" = None

    def __iter__(self) -> "Iterator[Run]":
        return self.start() if self.wanted is None else filter(self.wanted, self.start())

    def keep(self, wanted: "Callable[[Run], bool]") -> "Source":
        """Only some of the runs."""
        return dataclasses.replace(self, wanted=wanted, total=None)


def open_runs(path: Path, *, skip_damaged: bool = False) -> Source:
    """The runs at a path."""
    from lodestar.runs.store import RunStore

    if path.is_file() or (path.is_dir() and not RunStore(path).exists() and any(path.iterdir())):
        return Source(_Table(path), None)
    store = RunStore.open(path)
    return Source(lambda: store.iter(skip_damaged=skip_damaged), len(store.list(skip_damaged=skip_damaged)))


class _Table:
    """A table read anew for each pass; what had to be left out is said after the first."""

    def __init__(self, path: Path):
        self._path = path
        self._told = False

    def __call__(self) -> "Iterator[Run]":
        from lodestar.runs.table import TableImport

        table = TableImport([self._path])
        yield from table.runs()
        if table.report.left_out and not self._told:
            name, reason = table.report.left_out[0]
            more = f", and {len(table.report.left_out) - 1} more" if len(table.report.left_out) > 1 else ""
            _screen.warn(f"left out of {self._path}: {_screen.safe(name, limit=48).plain} ({reason}){more}")
        self._told = True
