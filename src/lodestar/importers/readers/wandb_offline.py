"""Weights & Biases without an account: the `.wandb` files in the run folders a client leaves on disk.

Several folders of one run id are one run that was resumed. Folders of runs that were synced are read as well.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lodestar._errors import RunError
from lodestar.importers.reader import AbstractReader, Curves, ListedRun, LoggedCurve
from lodestar.importers.readers._folder import find, fingerprint
from lodestar.importers.readers._settings_file import flat
from lodestar.importers.readers._wandb_file import WandbFile, numbers


class WandbOfflineReader(AbstractReader):
    """.wandb files below a folder."""

    kind: ClassVar[str] = "wandb"
    clock: str = "_step"
    clock_counts_calls: ClassVar[bool] = True
    threads: ClassVar[int] = 1

    def __init__(self, address: str | os.PathLike[str]):
        what = "run-*.wandb file (W&B run folder)"
        root, files = find(address, lambda name: name.endswith(".wandb"), what)
        self.address = str(root)
        self._runs: dict[str, list[Path]] = {}
        for path in dict.fromkeys(path.resolve() for path in files):  # latest-run is a link to another of them
            self._runs.setdefault(path.stem.removeprefix("run-"), []).append(path)

    def list(self) -> Iterator[ListedRun]:
        for key, paths in self._runs.items():
            version, quantities = fingerprint(paths), dict[str, None]()

            def seen(step: int, row: dict[str, Any], found: dict[str, None] = quantities) -> None:
                found |= dict.fromkeys(name for name, _ in numbers(row))

            try:
                parts = [WandbFile(path, seen).read() for path in paths]
            except RunError as error:
                yield ListedRun(key, key, version, trouble=str(error))
                continue
            settings = {name: value for part in parts for name, value in part.config.items()}
            last = parts[-1]
            names = tuple(quantities)
            yield ListedRun(key, last.name or key, version, names, flat(settings), last.state, last.project or None)

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        points: dict[str, list[tuple[float, float]]] = {name: [] for name in quantities}

        def keep(step: int, row: dict[str, Any]) -> None:
            for name, value in numbers(row):
                if name in points:
                    points[name].append((step, value))

        parts = [WandbFile(path, keep).read() for path in self._runs[run.key]]
        notes = tuple(note for part in parts for note in part.notes)
        return {name: LoggedCurve.of(pairs, notes) for name, pairs in points.items() if pairs}
