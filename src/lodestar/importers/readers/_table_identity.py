"""Which columns tell the runs of a table apart, judged by its rows: a run does not log its loss twice at one step.

A name such as `trial` may count the repeats of each setting, and not the runs. Comes in: the steps of all rows with a
loss, and the columns that might name their runs. Goes out: one column, several that do it together, or none (a file is
a run); and why.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.importers.readers._table_file import Frame

Parts = Iterable[tuple[str, Frame]]
"""Frames, each with the run that its file would be."""
RESUMED = 0.4  # share of rows that may repeat a step of their run: resumed runs do
FILE = "\0file"
"""Stands for the file, or what it calls its run, among the columns."""
_SAME = 0.01  # the same, of columns that nobody called a run
_FEWEST_ROWS = 3  # a run, in the median
_ROWS = 400_000  # looked at; of more, every n-th step
_PIECES = {"session", "restart", "attempt", "resume", "resumed", "segment", "rank", "host", "hostname", "worker", "gpu"}
"""Parts of one run, or places it ran at: never what tells runs apart."""


@dataclasses.dataclass(frozen=True)
class Split:
    """What some columns make of the rows: how many runs, and how many rows repeat a step of their run."""

    columns: tuple[str, ...]
    runs: int
    repeats: float
    rows: float  # of a run, in the median

    def __str__(self) -> str:
        what = " and ".join("the file" if name == FILE else repr(name) for name in self.columns)
        merged = f", with {self.repeats:.0%} of the rows at a step their run has already" if self.repeats else ""
        return f"{what}: {self.runs} run{'s' * (self.runs != 1)}{merged}"


class Labels:
    """The rows that hold a loss: their steps, and the values of some columns as numbers."""

    def __init__(self, parts: Parts, step: str, loss: str, columns: Sequence[str]):
        known: dict[str, dict[str, int]] = {name: {} for name in (FILE, *columns)}
        steps: list[NDArray[np.float64]] = []
        codes: dict[str, list[NDArray[np.int64]]] = {name: [] for name in known}
        for file_run, frame in parts:
            if loss not in frame.columns or step not in frame.columns:
                continue
            at = frame.numbers(step)[0]
            rows = np.flatnonzero(frame.stated(loss) & ~np.isnan(at))
            steps.append(at[rows])
            file = known[FILE].setdefault(frame.run or file_run, len(known[FILE]))
            codes[FILE].append(np.full(len(rows), file))
            for name in columns:
                codes[name].append(_coded(frame, name, rows, known[name]))
        self.values = {name: len(texts) for name, texts in known.items()}
        self._steps = np.unique(np.concatenate([*steps, np.zeros(0)]), return_inverse=True)[1]
        every = -(-len(self._steps) // _ROWS) or 1
        keep = self._steps % every == 0
        self._steps = self._steps[keep]
        self._codes = {name: np.concatenate([*parts, np.zeros(0, np.int64)])[keep] for name, parts in codes.items()}

    def __len__(self) -> int:
        return len(self._steps)

    def split(self, columns: Sequence[str]) -> Split:
        """What these columns make of the rows."""
        run = np.zeros(len(self), np.int64)
        for name in columns:
            _, run = np.unique(run * (self.values[name] + 1) + self._codes[name] + 1, return_inverse=True)
        counts = np.bincount(run) if len(run) else np.zeros(1, np.int64)
        different = len(np.unique(run * (self._steps.max(initial=0) + 1) + self._steps))
        repeats = 1 - different / len(self) if len(self) else 0.0
        return Split(tuple(columns), len(counts), repeats, float(np.median(counts)))


def by_name(labels: Labels, named: Sequence[str]) -> tuple[Split, bool]:
    """The first of the columns called a run that makes sense of the rows (of none: the files), and whether it does."""
    splits = [labels.split([name]) for name in named] or [labels.split([FILE])]
    fine = [split for split in splits if split.repeats <= RESUMED]
    return (fine or sorted(splits, key=lambda split: split.repeats))[0], bool(fine)


def together(labels: Labels, start: Split, others: Sequence[str]) -> Split | None:
    """The fewest columns that tell the runs apart, `start` among them if need be; None if no columns do."""
    left = [name for name in others if 1 < labels.values[name] <= len(labels) / 2 and name.lower() not in _PIECES]
    found = start
    while found.repeats > _SAME and left:
        found = min((labels.split([*found.columns, name]) for name in left), key=lambda split: split.repeats)
        left.remove(found.columns[-1])
    for name in found.columns:
        without = labels.split([each for each in found.columns if each != name])
        if without.columns and without.repeats <= found.repeats:
            found = without
    if found.repeats > _SAME or found.rows < _FEWEST_ROWS:
        return None
    return labels.split(sorted(found.columns, key=list(labels.values).index))


def _coded(frame: Frame, name: str, rows: NDArray[np.intp], known: dict[str, int]) -> NDArray[np.int64]:
    """Numbers into the texts of all frames, -1 where blank."""
    if name not in frame.columns:
        return np.full(len(rows), -1)
    codes, texts = frame.codes(name)
    each = np.array([*(known.setdefault(text, len(known)) for text in texts), -1])
    return each[codes[rows]]
