"""Weights & Biases without an account: the `.wandb` files in the run folders a client leaves on disk.

Several folders of one run id are one run that was resumed. Folders of runs that were synced are read as well.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from lodestar.importers.reader import Curves, ListedRun, LoggedCurve
from lodestar.importers.readers._folder import AbstractFolderReader
from lodestar.importers.readers._settings_file import flat
from lodestar.importers.readers._wandb_file import WandbFile, numbers


class WandbOfflineReader(AbstractFolderReader):
    """.wandb files below a folder."""

    kind: ClassVar[str] = "wandb"
    clock: str = "_step"
    clock_counts_calls: ClassVar[bool] = True
    what: ClassVar[str] = "run-*.wandb file (W&B run folder)"

    def fits(self, name: str, alone: bool) -> bool:
        return name.endswith(".wandb")

    def key(self, path: Path) -> str:
        return path.stem.removeprefix("run-")

    def files(self, key: str) -> list[Path]:
        return [*dict.fromkeys(path.resolve() for path in self._runs[key])]  # latest-run links to another of them

    def described(self, run: ListedRun) -> ListedRun:
        quantities: dict[str, None] = {}

        def seen(step: int, row: dict[str, Any]) -> None:
            quantities.update(dict.fromkeys(name for name, _ in numbers(row)))

        parts = [WandbFile(path, seen).read() for path in self.files(run.key)]
        config = flat({name: value for part in parts for name, value in part.config.items()})
        name, state, group = parts[-1].name or run.key, parts[-1].state, parts[-1].project or None
        return ListedRun(run.key, name, run.version, tuple(quantities), config, state, group)

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        points: dict[str, list[tuple[float, float]]] = {name: [] for name in quantities}

        def keep(step: int, row: dict[str, Any]) -> None:
            for name, value in numbers(row):
                if name in points:
                    points[name].append((step, value))

        parts = [WandbFile(path, keep).read() for path in self.files(run.key)]
        notes = tuple(note for part in parts for note in part.notes)
        return {name: LoggedCurve.of(pairs, notes) for name, pairs in points.items() if pairs}
