"""The Hugging Face Trainer: `trainer_state.json`, in an output folder or its checkpoints.

One run an output folder, from the latest state in it (each state holds the whole history up to then). The entry with
the totals of a finished training (`train_runtime`, the mean `train_loss`) is no point of a curve and is left out.
Arguments are read from `training_args.json` if someone wrote one; `training_args.bin` is a pickle, and is never opened.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lodestar._errors import RunError
from lodestar.importers.reader import AbstractReader, Curves, ListedRun, LoggedCurve
from lodestar.importers.readers._folder import find, fingerprint, key_in, name_in
from lodestar.importers.readers._settings_file import flat, is_number, read_json
from lodestar.runs import Scalar

FILE = "trainer_state.json"
_FACTS = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps")
_TOTALS = "train_runtime"


class HuggingfaceReader(AbstractReader):
    """trainer_state.json files below a folder."""

    kind: ClassVar[str] = "huggingface"
    threads: ClassVar[int] = 1

    def __init__(self, address: str | os.PathLike[str]):
        self._root, files = find(address, lambda name: name == FILE, f"{FILE} (Hugging Face Trainer)")
        self.address = str(self._root)
        self._outputs: dict[Path, list[Path]] = {}
        for path in files:
            folder = path.parent
            inside = _checkpoint(folder) is not None and folder != self._root
            self._outputs.setdefault(folder.parent if inside else folder, []).append(path)
        self._folders = {key_in(self._root, folder): folder for folder in self._outputs}

    def list(self) -> Iterator[ListedRun]:
        for key, folder in self._folders.items():
            name, path = name_in(self._root, folder), self._latest(folder)
            version = fingerprint([path])
            try:
                state = _state(path)
            except RunError as error:
                yield ListedRun(key, name, version, trouble=str(error))
                continue
            pairs = (pair for entry in _history(state) for pair in entry.items())
            logged = tuple(dict.fromkeys(name for name, value in pairs if name != "step" and is_number(value)))
            yield ListedRun(key, name, version, logged, _config(state, path.parent, folder), _how_it_stands(state))

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        entries = _history(_state(self._latest(self._folders[run.key])))
        found: dict[str, LoggedCurve] = {}
        for name in dict.fromkeys(quantities):
            points = [(entry["step"], entry[name]) for entry in entries if is_number(entry.get(name))]
            if points and name != "step":
                found[name] = LoggedCurve.of(points)
        return found

    def _latest(self, folder: Path) -> Path:
        """The state furthest on: the output folder's own (written at the end), else of the highest checkpoint."""
        paths = self._outputs[folder]
        own = [path for path in paths if path.parent == folder]
        highest = max(paths, key=lambda path: _checkpoint(path.parent) or 0)
        if not own or highest is own[0]:
            return highest
        try:
            done = int(_state(own[0]).get("global_step", 0))
        except RunError:
            return highest
        return own[0] if done >= (_checkpoint(highest.parent) or 0) else highest


def _checkpoint(folder: Path) -> int | None:
    found = re.fullmatch(r"checkpoint-(\d+)", folder.name)
    return int(found[1]) if found else None


def _state(path: Path) -> dict[str, Any]:
    state = read_json(path)
    if not isinstance(state, dict) or not isinstance(state.get("log_history"), list):
        raise RunError(f"{path} has no log_history: the Hugging Face Trainer did not write it. Fix: leave it out")
    return state


def _history(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries = [entry for entry in state["log_history"] if isinstance(entry, dict) and is_number(entry.get("step"))]
    return [entry for entry in entries if _TOTALS not in entry]


def _config(state: Mapping[str, Any], *folders: Path) -> dict[str, Scalar]:
    config = flat({name: state[name] for name in _FACTS if name in state})
    for folder in folders:
        path = folder / "training_args.json"
        if path.is_file() and isinstance(settings := read_json(path), dict):
            return flat(settings) | config
    return config


def _how_it_stands(state: Mapping[str, Any]) -> str:
    planned = state.get("max_steps") or 0
    return "finished" if 0 < planned <= state.get("global_step", 0) else "stopped"
