"""When a bench worked, on which machine, by which command: an entry for each command, kept up to date as it goes.

Comes in: a folder and the command's words. Goes out: a small JSON file for each command, and a list of all.
An entry of a killed command ends at its last sign of life. Knows nothing of runs.
"""

import dataclasses
import datetime
import json
import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from lodestar import _disk

VERSION = 1
SIGN_OF_LIFE = 5.0  # seconds between two
PACKAGES = ("lodestar-lr", "jax", "numpy", "optax")


@dataclasses.dataclass(frozen=True)
class DiaryEntry:
    """One command's work. `seconds` is wall time, `trials` how many it finished; `slots` how many it ran at once."""

    command: str
    began: str
    seconds: float
    trials: int
    slots: int
    machine: dict[str, Any]


class Diary:
    """Writes one entry."""

    def __init__(self, folder: Path, command: str, slots: int):
        self._began, self._clock = datetime.datetime.now(datetime.UTC), time.monotonic()
        self._path = folder / f"{self._began:%Y%m%dT%H%M%S}-{os.getpid()}.json"
        self._command, self._slots, self._machine = command, slots, machine()
        self._written = -SIGN_OF_LIFE
        self.trials = 0

    def sign(self, *, trials: int = 0, now: bool = False) -> None:
        """Still at work; `trials` more are finished."""
        self.trials += trials
        passed = time.monotonic() - self._clock
        if now or passed - self._written >= SIGN_OF_LIFE:
            self._written = passed
            self._path.parent.mkdir(parents=True, exist_ok=True)
            began = self._began.isoformat(timespec="seconds")
            entry = DiaryEntry(self._command, began, round(passed, 1), self.trials, self._slots, self._machine)
            data = {"lodestar diary": VERSION, **dataclasses.asdict(entry)}
            _disk.write_whole(self._path, (json.dumps(data, indent=1) + "\n").encode())


def entries(folder: Path) -> list[DiaryEntry]:
    """All entries, oldest first; those that finished no trial are left out."""
    found = []
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text())
        del data["lodestar diary"]
        found.append(DiaryEntry(**data))
    return [entry for entry in found if entry.trials]


def machine() -> dict[str, Any]:
    """What this computer is, in a few words."""
    versions = {name: _version(name) for name in PACKAGES}
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system(), **_python(), **versions}


def _python() -> dict[str, str]:
    return {"python": platform.python_version()}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
