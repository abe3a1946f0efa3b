"""Where a command's RUNS come from: a store, or a table that could be imported; always streamed, as often as needed."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
    from lodestar.runs.table import TableImport

    if path.is_file():
        return Source(lambda: TableImport([path]).runs(), None)
    store = RunStore.open(path)
    return Source(lambda: store.iter(skip_damaged=skip_damaged), len(store.list(skip_damaged=skip_damaged)))
