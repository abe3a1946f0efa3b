"""Ray Tune: one folder a trial, with `result.json` (a JSON object for each report) and `params.json`.

The clock is `training_iteration`, which counts reports. Nested results are joined with "/", as Ray does. How a trial
stands is read from the experiment's state file, which holds pickles too: those stay shut. Older folders without
result.json are read from `progress.csv`.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lodestar._errors import RunError
from lodestar.importers.reader import Curves, ListedRun, LoggedCurve
from lodestar.importers.readers._csv_file import columns, read_columns
from lodestar.importers.readers._folder import AbstractFolderReader, unreadable
from lodestar.importers.readers._settings_file import is_number, leaves, read_json, read_settings
from lodestar.runs.note import Note, NoteKind

CLOCK = "training_iteration"
_OWN = {"timestamp", "time_this_iter_s", "time_total_s", "pid", "time_since_restore", "iterations_since_restore"}
_OWN |= {"done", "trial_id", "date", "hostname", "node_ip", "checkpoint_dir_name", "experiment_tag", CLOCK}


class RayTuneReader(AbstractFolderReader):
    """Trials below a folder."""

    kind: ClassVar[str] = "ray"
    clock: str = CLOCK
    clock_counts_calls: ClassVar[bool] = True
    what: ClassVar[str] = "result.json or progress.csv (Ray Tune trial)"

    def __init__(self, address: str | os.PathLike[str]):
        super().__init__(address)
        self._states: dict[Path, dict[str, str]] = {}

    def fits(self, name: str, alone: bool) -> bool:
        return name in ("result.json", "progress.csv")

    def files(self, key: str) -> list[Path]:
        path = self._runs[key][-1]  # sorted: result.json comes after progress.csv, and takes its place
        return [path, path.parent / "params.json"]

    def described(self, run: ListedRun) -> ListedRun:
        path, params = self.files(run.key)
        state, group = self._state(path.parent), path.parent.parent.name or None
        version, quantities, (config, notes) = run.version + state[:1], _quantities(path), read_settings(params)
        return ListedRun(run.key, run.name, version, quantities, config, state, group, notes=notes)

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        path = self.files(run.key)[0]
        if path.suffix == ".csv":
            return read_columns(path, quantities, CLOCK)
        points: dict[str, list[tuple[float, float]]] = {name: [] for name in quantities}
        notes: list[Note] = []
        for result in _results(path, notes):
            step = result.get(CLOCK)
            for name in points:
                if is_number(result.get(name)) and step is not None:
                    points[name].append((step, result[name]))
        return {name: LoggedCurve.of(pairs, tuple(notes)) for name, pairs in points.items() if pairs}

    def _state(self, trial: Path) -> str:
        """Ray's word for a trial (TERMINATED, ERROR, RUNNING); "failed" if it only left an error file."""
        folder = trial.parent
        if folder not in self._states:
            self._states[folder] = _states(folder)
        known = self._states[folder].get(trial.name, "")
        return known or ("failed" if (trial / "error.txt").is_file() else "")


def _quantities(path: Path) -> tuple[str, ...]:
    if path.suffix == ".csv":
        return tuple(name for name in columns(path) if name not in _OWN and not name.startswith("config/"))
    found: dict[str, None] = {}
    for result in _results(path, []):
        found |= dict.fromkeys(name for name, value in result.items() if name not in _OWN and is_number(value))
    return tuple(found)


def _results(path: Path, notes: list[Note]) -> Iterator[dict[str, Any]]:
    """Each report, flat, without Ray's copy of the config."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    result = json.loads(line)
                except (ValueError, RecursionError):
                    what = f"line {number} of {path.name} is not whole (a kill does that), and was left out"
                    notes.append(Note(what, NoteKind.LEFT_OUT))
                    continue
                if isinstance(result, dict):
                    result.pop("config", None)
                    yield {name: value for name, value in leaves(result, "/") if is_number(value)}
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


def _states(experiment: Path) -> dict[str, str]:
    """Each trial folder's status, from the latest state file that can be read."""
    for path in sorted(experiment.glob("experiment_state-*.json"), reverse=True):
        try:
            trials = [json.loads(entry[0]) for entry in read_json(path)["trial_data"]]
            return {Path(trial["relative_logdir"]).name: str(trial["status"]) for trial in trials}
        except (RunError, KeyError, TypeError, IndexError, ValueError):
            continue  # another version of Ray; the state is then not known
    return {}
