"""TensorBoard: a folder of event files is a run. Read by our own reader: no TensorFlow, no TensorBoard, no sampling.

It stays because TensorBoard's own `EventAccumulator` takes 11 times as long for 1,000,000 scalars, on one core
(`python -m benchmarks trackers_tensorboard` times both). Two habits of torch's `SummaryWriter` are undone: the
sub-folders of `add_scalars` ("loss_train" with the tag "loss") are the run's own quantities ("loss/train"), and those
of `add_hparams` are its config.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from lodestar.importers.reader import Curves, ListedRun, LoggedCurve
from lodestar.importers.readers._event_file import Events, read_events
from lodestar.importers.readers._folder import AbstractFolderReader, fingerprint
from lodestar.importers.readers._settings_file import read_settings
from lodestar.runs import Scalar

_ROOM = 5_000_000  # scalars held between listing and fetching, so that small logs are read once: 80 MB


@dataclasses.dataclass(frozen=True)
class _Scan:
    """What a folder's event files hold, without the values."""

    version: str
    counts: dict[str, int]
    config: dict[str, Scalar]
    state: str

    def part_of(self, folder: Path) -> str | None:
        """The quantity of the parent that this folder of `add_scalars` holds; None if it is no such folder."""
        if len(self.counts) == 1:
            tag = next(iter(self.counts))
            stem = tag.replace("/", "_") + "_"
            if folder.name.startswith(stem) and len(folder.name) > len(stem):
                return f"{tag}/{folder.name[len(stem) :]}"
        return None

    def is_config(self) -> bool:
        """Whether this is a folder of `add_hparams`: settings, and final values only."""
        return bool(self.config) and all(count <= 1 for count in self.counts.values())


class TensorboardReader(AbstractFolderReader):
    """Event files below a folder."""

    kind: ClassVar[str] = "tensorboard"
    what: ClassVar[str] = "TensorBoard event file (*tfevents*)"

    def __init__(self, address: str | os.PathLike[str]):
        super().__init__(address)
        self._folders = {self._root / key: paths for key, paths in self._runs.items()}
        self._below: dict[Path, list[Path]] = {}
        for folder in self._folders:
            self._below.setdefault(folder.parent, []).append(folder)
        self._scans: dict[Path, _Scan] = {}
        self._held: dict[Path, dict[str, LoggedCurve]] = {}  # read when listed, handed out when fetched
        self._room = _ROOM

    def fits(self, name: str, alone: bool) -> bool:
        return "tfevents" in name

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        folder = self._root / run.key
        wanted = set(quantities)
        found = self._read(folder, {name: name for name in wanted})
        for child in self._below.get(folder, ()):
            part = self._scan(child).part_of(child)
            if part in wanted:
                found |= self._read(child, {next(iter(self._scan(child).counts)): part})
        return {name: found[name] for name in quantities if name in found}

    def described(self, run: ListedRun) -> ListedRun | None:
        folder = self._root / run.key
        scan, files = self._scan(folder), [*self._folders[folder]]
        if folder.parent in self._folders and (scan.part_of(folder) is not None or scan.is_config()):
            return None  # it belongs to the run above
        settings, notes = read_settings(folder / "hparams.yaml")
        quantities, config, state = [*scan.counts], settings | scan.config, scan.state
        for child in self._below.get(folder, ()):
            below = self._scan(child)
            part = below.part_of(child)
            if part is not None:
                quantities.append(part)
            elif below.is_config():
                config, state = config | below.config, below.state or state
            else:
                continue
            files += self._folders[child]
        return ListedRun(run.key, run.name, fingerprint(files), tuple(quantities), config, state, notes=notes)

    def _scan(self, folder: Path) -> _Scan:
        version = fingerprint(self._folders[folder])
        known = self._scans.get(folder)
        if known is None or known.version != version:
            holds = self._room > 0
            events = read_events(self._folders[folder], lambda _: holds)
            counts = {name: tag.count for name, tag in events.tags.items()}
            known = _Scan(version, counts, events.config, events.state)
            self._scans[folder] = known
            if holds:
                self._held[folder] = _curves(events)
                self._room -= sum(counts.values())
        return known

    def _read(self, folder: Path, names: Mapping[str, str]) -> dict[str, LoggedCurve]:
        """The curves of some tags under the names given: as they were held since listing, else read again."""
        held = self._held.pop(folder, None)
        if held is not None:
            self._room += sum(len(curve.steps) for curve in held.values())
        if held is None or self._scans[folder].version != fingerprint(self._folders[folder]):
            held = _curves(read_events(self._folders[folder], lambda tag: tag in names))
        return {name: held[tag] for tag, name in names.items() if tag in held}


def _curves(events: Events) -> dict[str, LoggedCurve]:
    notes = tuple(events.notes)
    return {
        name: dataclasses.replace(tag.logged(), notes=notes)
        for name, tag in events.tags.items()
        if tag.kept and tag.count
    }
