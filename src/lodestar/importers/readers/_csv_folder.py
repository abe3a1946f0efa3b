"""Trackers that leave one CSV file a run, with its settings in a YAML file beside it: Lightning and Ultralytics."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from lodestar._errors import RunError
from lodestar.importers.reader import AbstractReader, Curves, ListedRun
from lodestar.importers.readers._csv_file import columns, read_columns
from lodestar.importers.readers._folder import find, fingerprint, key_in, name_in
from lodestar.importers.readers._settings_file import read_yaml


class AbstractCsvReader(AbstractReader):
    file: ClassVar[str]
    settings: ClassVar[str]
    marks: ClassVar[tuple[str, ...]]
    """Columns by which such a file is known: others of the same name are left out, with that reason."""
    threads: ClassVar[int] = 1

    def __init__(self, address: str | os.PathLike[str]):
        path = Path(address).expanduser()
        whole = path.is_file() and path.suffix == ".csv"  # a file named outright may have any name
        self._root, files = find(address, lambda name: whole or name == self.file, f"{self.file} ({self.kind})")
        self.address = str(self._root)
        self._files = {key_in(self._root, path.parent): path for path in files}

    def list(self) -> Iterator[ListedRun]:
        for key, path in self._files.items():
            name, beside = name_in(self._root, path.parent), path.parent / self.settings
            version = fingerprint([path, beside])
            try:
                found = columns(path)
                self._check(path, found)
                quantities = tuple(column for column in found if column != self.clock)
                yield ListedRun(key, name, version, quantities, read_yaml(beside))
            except RunError as error:
                yield ListedRun(key, name, version, trouble=str(error))

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        return read_columns(self._files[run.key], quantities, self.clock)

    def _check(self, path: Path, found: Sequence[str]) -> None:
        missing = [mark for mark in self.marks if mark not in found]
        if missing:
            raise RunError(
                f"{path} is not written by {self.kind}: it has no column {missing[0]!r} (its columns are "
                f"{', '.join(found[:8])}). Fix: lodestar import csv {path}"
            )
