"""Optuna: the trials of studies in a database or a journal file.

Intermediate values are the quantity "value", with the study's direction. A user attribute that holds numbers over time
is a curve too: a list (one value for each intermediate value, or for each step), a list of [step, value] pairs, or a
mapping step -> value. Parameters and other attributes are the config.
"""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from lodestar._credentials import stripped
from lodestar._errors import RunError, TrackerError
from lodestar._extras import need
from lodestar.importers.reader import AbstractReader, Curves, ListedRun, LoggedCurve, chosen, told
from lodestar.importers.readers._settings_file import is_number

VALUE = "value"
_SCALAR = str | int | float | bool
_SQLITE = b"SQLite format 3\x00"


class OptunaReader(AbstractReader):
    """The trials of all studies in a storage, or of those named by `study`."""

    kind = "optuna"
    threads = 1

    def __init__(self, address: str, *, study: Sequence[str] = ()):
        self._optuna = need("optuna", "optuna")
        self.address, storage = _open(address)
        with told(self.address, "Optuna", "Optuna cannot open"):
            there = self._optuna.get_all_study_names(storage)
            names = chosen(study, there, "study", self.address) or there
            self._studies = [self._optuna.load_study(study_name=name, storage=storage) for name in names]
        ways = {one.direction.name for one in self._studies if len(one.directions) == 1}
        self.roles = {"metric": VALUE}
        if len(ways) == 1:
            self.roles["direction"] = "max" if ways == {"MAXIMIZE"} else "min"
        self._trials: dict[str, Any] = {}

    def list(self) -> Iterator[ListedRun]:
        for study in self._studies:
            for trial in study.get_trials(deepcopy=False):
                key = f"{study.study_name}/{trial.number}"
                self._trials[key] = trial
                yield _listed(key, study.study_name, trial)

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        if run.key not in self._trials:
            collected = {listed.key for listed in self.list()}
            if run.key not in collected:
                raise RunError(f"trial {run.key!r} is not in {self.address} any more. Fix: import again")
        trial = self._trials[run.key]
        return {name: _curve(trial, name) for name in quantities if name in _quantities(trial)}


def _open(address: str) -> tuple[str, Any]:
    """The address in full, and Optuna's storage there. Optuna would make a new one where there is none: we do not."""
    storages = need("optuna.storages", "optuna")
    path = Path(address.removeprefix("sqlite:///")).expanduser()
    with told(address, "Optuna", "Optuna cannot open"):
        if "://" in address and not address.startswith("sqlite:///"):
            return stripped(address), storages.RDBStorage(address)
        if not path.is_file():
            raise TrackerError(
                f"there is no Optuna storage {path.absolute()}. Fix: check the path (sqlite:///FILE, or a journal file)"
            )
        with path.open("rb") as file:
            is_sqlite = file.read(len(_SQLITE)) == _SQLITE
        if not is_sqlite:
            _check_journal(path)
            backend = need("optuna.storages.journal", "optuna").JournalFileBackend(str(path.absolute()))
            return str(path.absolute()), storages.JournalStorage(backend)
        _check_tables(path)
        url = f"sqlite:///{path.absolute()}"
        return url, storages.RDBStorage(url)


def _check_tables(path: Path) -> None:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"studies", "trials"} <= tables:
        raise TrackerError(f"{path} is an SQLite database, but holds no Optuna studies. Fix: check the path")


def _check_journal(path: Path) -> None:
    with path.open("rb") as file:
        first = file.readline(1_000_000)
    try:
        fine = "op_code" in json.loads(first)
    except (ValueError, TypeError):
        fine = False
    if not fine:
        raise TrackerError(f"{path} is neither an SQLite database nor an Optuna journal. Fix: check the path")


def _listed(key: str, study: str, trial: Any) -> ListedRun:
    attributes = {name: value for name, value in trial.user_attrs.items() if isinstance(value, _SCALAR)}
    params = {name: value if isinstance(value, _SCALAR) else str(value) for name, value in trial.params.items()}
    said = [trial.state.name, str(trial.datetime_complete), trial.params, trial.user_attrs]
    told = json.dumps([*said, sorted(trial.intermediate_values.items())], sort_keys=True, default=str)
    return ListedRun(
        key=key,
        name=f"{study}-{trial.number}",
        version=hashlib.sha256(told.encode()).hexdigest()[:24],
        quantities=_quantities(trial),
        config={**attributes, **params},
        state=trial.state.name.lower(),
        group=study,
    )


def _quantities(trial: Any) -> tuple[str, ...]:
    curves = [name for name, value in trial.user_attrs.items() if _is_curve(value)]
    return (*((VALUE,) if trial.intermediate_values else ()), *curves)


def _is_curve(value: object) -> bool:
    """Numbers over time: a list of them, of pairs, or a mapping from steps."""
    if isinstance(value, Mapping):
        return bool(value) and all(str(key).isdecimal() and is_number(one) for key, one in value.items())
    if not isinstance(value, list) or not value:
        return False
    pairs = all(isinstance(one, list) and len(one) == 2 and all(map(is_number, one)) for one in value)
    return pairs or all(map(is_number, value))


def _curve(trial: Any, name: str) -> LoggedCurve:
    reported = sorted(trial.intermediate_values.items())
    value = reported if name == VALUE and name not in trial.user_attrs else trial.user_attrs[name]
    if isinstance(value, Mapping):
        value = sorted((int(step), one) for step, one in value.items())
    if value and isinstance(value[0], list | tuple):
        return LoggedCurve.of(value)
    return LoggedCurve(_steps(trial, name, len(value), [step for step, _ in reported]), np.array(value, float))


def _steps(trial: Any, name: str, length: int, reported: Sequence[int]) -> np.ndarray:
    """The steps of a bare list: those reported if there are as many, else 1, 2, ... if that ends where they end."""
    if length == len(reported):
        return np.array(reported, float)
    if not reported or reported[-1] == length:
        return np.arange(1.0, length + 1)
    if reported[-1] == length - 1:
        return np.arange(float(length))
    raise RunError(
        f"trial {trial.number}: {name!r} is a list of {length} values, but the intermediate values go up to step "
        f"{reported[-1]}: which belong together is not clear. Fix: store a mapping, {{step: value}}"
    )
