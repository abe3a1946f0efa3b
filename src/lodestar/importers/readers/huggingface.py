"""The Hugging Face Trainer: `trainer_state.json`, in an output folder or its checkpoints.

One run an output folder, from the latest state in it (each state holds the whole history up to then). The entry with
the totals of a finished training (`train_runtime`, the mean `train_loss`) is no point of a curve and is left out.
Arguments are read from `training_args.json` if someone wrote one; `training_args.bin` is a pickle, and is never opened.
Of the model's own `config.json` the width is taken.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lodestar._errors import RunError
from lodestar.importers.reader import Curves, ListedRun, LoggedCurve
from lodestar.importers.readers._folder import AbstractFolderReader
from lodestar.importers.readers._settings_file import flat, is_number, read_json, read_settings
from lodestar.runs import Scalar
from lodestar.runs.fact_names import named
from lodestar.runs.note import Note

FILE = "trainer_state.json"
_FACTS = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps")
_TOKENS = "num_input_tokens_seen"
_MODEL = "config.json"
_TOTALS = "train_runtime"


class HuggingfaceReader(AbstractFolderReader):
    """trainer_state.json files below a folder."""

    kind: ClassVar[str] = "huggingface"
    what: ClassVar[str] = f"{FILE} (Hugging Face Trainer)"

    def fits(self, name: str, alone: bool) -> bool:
        return name == FILE

    def key(self, path: Path) -> str:
        """Checkpoints belong to the output folder they lie in."""
        inside = _checkpoint(path.parent) is not None and path.parent != self._root
        return super().key(path.parent if inside else path)

    def files(self, key: str) -> list[Path]:
        """The state furthest on: the output folder's own (written at the end), else of the highest checkpoint."""
        paths, folder = self._runs[key], self._root / key
        own = [path for path in paths if path.parent == folder]
        highest = max(paths, key=lambda path: _checkpoint(path.parent) or 0)
        if not own or highest is own[0]:
            return [highest]
        try:
            done = _state(own[0]).get("global_step", 0)
        except RunError:
            return [highest]
        return own if is_number(done) and done >= (_checkpoint(highest.parent) or 0) else [highest]

    def described(self, run: ListedRun) -> ListedRun:
        path = self.files(run.key)[0]
        state = _state(path)
        pairs = (pair for entry in _history(state) for pair in entry.items())
        logged = tuple(dict.fromkeys(name for name, value in pairs if name != "step" and is_number(value)))
        config, notes = _config(state, path.parent, self._root / run.key)
        return dataclasses.replace(run, quantities=logged, config=config, state=_how_it_stands(state), notes=notes)

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        entries = _history(_state(self.files(run.key)[0]))
        found: dict[str, LoggedCurve] = {}
        for name in dict.fromkeys(quantities):
            points = [(entry["step"], entry[name]) for entry in entries if is_number(entry.get(name))]
            if points and name != "step":
                found[name] = LoggedCurve.of(points)
        return found


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


def _config(state: Mapping[str, Any], *folders: Path) -> tuple[dict[str, Scalar], tuple[Note, ...]]:
    config = flat({name: state[name] for name in _FACTS if name in state})
    tokens = state.get(_TOKENS)
    if isinstance(tokens, int) and tokens > 0:
        config[_TOKENS] = tokens
    config |= _width(folders)
    for folder in folders:
        settings, notes = read_settings(folder / "training_args.json")
        if settings or notes:
            return settings | config, notes
    return config, ()


def _width(folders: Sequence[Path]) -> dict[str, Scalar]:
    """What the model's config says of its width, if it lies there; its trouble is not that of the run."""
    for folder in folders:
        settings, _ = read_settings(folder / _MODEL)
        if settings:
            return {f"model.{key}": settings[key] for key in named(settings, "width") if "." not in key}
    return {}


def _how_it_stands(state: Mapping[str, Any]) -> str:
    planned, done = state.get("max_steps") or 0, state.get("global_step") or 0
    if not is_number(planned) or not is_number(done):
        return ""
    return "finished" if 0 < planned <= done else "stopped"
