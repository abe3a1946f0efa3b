"""MLflow's old file store (`mlruns`), read as the plain files it is: newer versions of MLflow refuse to.

A metric is a file of lines "timestamp value step"; a parameter or a tag is a file with its value; slashes in names are
folders.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar._errors import RunError, TrackerError
from lodestar.importers.reader import ListedRun, LoggedCurve, described
from lodestar.importers.readers._settings_file import read_yaml
from lodestar.importers.readers.mlflow_backend import AbstractBackend, listed, logged

_META = "meta.yaml"
TROUBLE = "cannot be read"
_STATES = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_LINE = 30  # bytes, about
_NO_RUNS = {"models", ".trash", "tags", "datasets", "traces"}


class FilesBackend(AbstractBackend):
    def __init__(self, root: Path):
        self.address = str(root.absolute())
        self._root = root
        if not self.is_one(root):
            raise TrackerError(
                f"{root} is no MLflow store: it holds no experiment (a folder with {_META}) and no database. "
                "Fix: give the folder 'mlruns' itself, a database (sqlite:///FILE) or a server's address"
            )
        self._folders: dict[str, Path] = {}

    @staticmethod
    def is_one(root: Path) -> bool:
        with contextlib.suppress(OSError):
            return any((folder / _META).is_file() for folder in root.iterdir() if folder.is_dir())
        return False

    def experiments(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for folder in sorted(_folders(self._root)):
            meta = _meta(folder)
            if meta and folder.name not in _NO_RUNS and meta.get("lifecycle_stage") != "deleted":
                found[folder.name] = str(meta.get("name", folder.name))
        return found

    def runs(self, experiments: Mapping[str, str]) -> Iterator[ListedRun]:
        for key, name in experiments.items():
            metas = [(folder, _meta(folder)) for folder in _folders(self._root / key)]
            runs = [(folder, meta) for folder, meta in metas if {"run_id", "run_uuid", TROUBLE} & meta.keys()]
            for folder, meta in sorted(runs, key=lambda item: (_start(item[1]), item[0].name)):
                self._folders[folder.name] = folder
                run = ListedRun(folder.name, folder.name, "", group=name, trouble=meta.get(TROUBLE, ""))
                read = None if run.trouble else described(run, lambda f=folder, m=meta, n=name: _listed(f, m, n))
                yield read or run

    def histories(self, runs: Sequence[str], quantities: Sequence[str]) -> dict[str, dict[str, LoggedCurve]]:
        found: dict[str, dict[str, LoggedCurve]] = {}
        for run in runs:
            folder = self._folder(run)
            there = {name: folder / "metrics" / name for name in quantities}
            found[run] = {name: _history(run, name, file) for name, file in there.items() if file.is_file()}
        return found

    def _folder(self, run: str) -> Path:
        if run not in self._folders:
            self._folders |= {folder.parent.name: folder.parent for folder in self._root.glob(f"*/{run}/{_META}")}
        if run not in self._folders:
            raise RunError(f"run {run!r} is not in {self._root} any more. Fix: import again")
        return self._folders[run]


def _listed(folder: Path, meta: Mapping[str, Any], experiment: str) -> ListedRun:
    latest: dict[str, object] = {}
    points = 0
    for name, file in sorted(_files(folder / "metrics").items()):
        stat = file.stat()
        latest[name] = [stat.st_size, stat.st_mtime_ns]
        points = max(points, stat.st_size // _LINE)
    state = meta.get("status", "")
    called = {"run_id": folder.name, "run_name": meta.get("run_name") or meta.get("name")}
    info = {**meta, **called, "status": _STATES.get(state, str(state))}
    params, tags = ({name: _text(file) for name, file in _files(folder / part).items()} for part in ("params", "tags"))
    return listed(info, experiment, latest, points, params, tags)


def _history(run: str, name: str, file: Path) -> LoggedCurve:
    steps: list[float] = []
    values: list[float | None] = []
    for number, line in enumerate(_text(file).splitlines(), start=1):
        parts = line.split()
        if not parts:
            continue
        try:
            values.append(float(parts[1]))
            steps.append(float(parts[2]) if len(parts) > 2 else 0.0)
        except (IndexError, ValueError) as error:
            raise RunError(
                f"run {run!r}, {name}: line {number} of {file} is {line[:60]!r}, not 'timestamp value step'. "
                "Fix: mend that line or delete the run"
            ) from error
    return logged(steps, values)


def _meta(folder: Path) -> dict[str, Any]:
    """The meta file, empty if there is none; only `TROUBLE`, why, if it cannot be read."""
    if not (folder / _META).is_file():
        return {}
    try:
        found = read_yaml(folder / _META)
    except RunError as error:
        return {TROUBLE: str(error)}
    return found if isinstance(found, dict) else {TROUBLE: f"{folder / _META} holds no settings. Fix: delete the run"}


def _start(meta: Mapping[str, Any]) -> float:
    began = meta.get("start_time")
    return float(began) if isinstance(began, int | float) else 0.0


def _folders(root: Path) -> list[Path]:
    with os.scandir(root) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir()]


def _files(root: Path) -> dict[str, Path]:
    """Every file below, by its path."""
    return {
        (Path(folder) / file).relative_to(root).as_posix(): Path(folder) / file
        for folder, _, files in os.walk(root)
        for file in files
    }


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
