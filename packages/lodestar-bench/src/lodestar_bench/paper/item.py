"""What an item of the paper is: a table or a figure made from a bench's home, in two steps, data first, drawing second.

Comes in: an `ItemContext` (one task's home). Goes out: `Findings`, sheets of plain data, kept beside the figures; then,
from the kept data of all tasks and nothing else, figures for print, charts for the interactive page, and words. An item
is one file with `ITEM = MyItem()` and one line in `lodestar_bench.paper`; its drawing is a file of its own. Knows
nothing of files, folders and commands: see `produce`.
"""

import abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lodestar.runs import Direction
from lodestar_bench.paper.sheet import Sheet

if TYPE_CHECKING:
    import matplotlib.figure

    from lodestar.report.html import Block
    from lodestar_bench.paper.context import ItemContext


@dataclasses.dataclass(frozen=True)
class Findings:
    """What `make` found on one task. `seeds` are those of the runs it rests on; `notes` are kept for the reader."""

    sheets: tuple[Sheet, ...]
    seeds: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Made:
    """An item on one task as it was kept: the task, the sheets by name, and how it was made.

    `record` has the command, the machine, the seeds, the seconds it took, when, and the notes.
    """

    task: str
    title: str
    scale: str
    metric_name: str
    direction: Direction
    sheets: Mapping[str, Sheet]
    record: Mapping[str, Any]

    @property
    def label(self) -> str:
        """A short name for a panel's title."""
        return self.task

    def __getitem__(self, sheet: str) -> Sheet:
        return self.sheets[sheet]


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure for print: `draw(figure)` fills a matplotlib figure of that size (inches); drawn as PNG."""

    name: str
    caption: str
    draw: "Callable[[matplotlib.figure.Figure], None]"
    width: float = 7.0
    height: float = 4.0


class AbstractItem(abc.ABC):
    """An item. `version` goes up when `make` changes, so that kept data are made anew."""

    name: str
    title: str
    needs: str
    """What it is made from, in words, for the list of items."""
    version: int = 1

    def inputs(self, context: "ItemContext") -> Iterable[object]:
        """What it is made from besides the home's runs: where that has changed, it is made anew."""
        del context
        return ()

    @abc.abstractmethod
    def make(self, context: "ItemContext") -> Findings:
        """The data of one task. May take long: tell the context of progress, use its place for runs."""

    @abc.abstractmethod
    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """Figures from the data of some tasks."""

    @abc.abstractmethod
    def words(self, made: Sequence[Made]) -> str:
        """What came out and where it differs from the paper, as Markdown computed from the data. The gist first."""

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """Charts and tables for the item's section of the interactive page; the words stand above them."""
        del made
        return []
