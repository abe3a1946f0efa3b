"""Trackers that leave one CSV file a run, with its settings in a YAML file beside it: Lightning and Ultralytics."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from lodestar._errors import RunError
from lodestar.importers.reader import Curves, ListedRun
from lodestar.importers.readers._csv_file import columns, read_columns
from lodestar.importers.readers._folder import AbstractFolderReader
from lodestar.importers.readers._settings_file import read_settings


class AbstractCsvReader(AbstractFolderReader):
    file: ClassVar[str]
    settings: ClassVar[str]
    marks: ClassVar[tuple[str, ...]]
    """Columns by which such a file is known: others of the same name are left out, with that reason."""

    def __init_subclass__(cls) -> None:
        cls.what = f"{cls.file} ({cls.kind})"

    def fits(self, name: str, alone: bool) -> bool:
        return name == self.file or (alone and name.endswith(".csv"))  # named outright it may have any name

    def files(self, key: str) -> list[Path]:
        path = self._runs[key][0]
        return [path, path.parent / self.settings]

    def described(self, run: ListedRun) -> ListedRun:
        path, beside = self.files(run.key)
        found = columns(path)
        self._check(path, found)
        quantities = tuple(column for column in found if column != self.clock)
        config, notes = read_settings(beside)
        return dataclasses.replace(run, quantities=quantities, config=config, notes=notes)

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        return read_columns(self._runs[run.key][0], quantities, self.clock)

    def _check(self, path: Path, found: Sequence[str]) -> None:
        missing = [mark for mark in self.marks if mark not in found]
        if missing:
            raise RunError(
                f"{path} is not written by {self.kind}: it has no column {missing[0]!r} (its columns are "
                f"{', '.join(found[:8])}). Fix: lodestar import csv {path}"
            )
