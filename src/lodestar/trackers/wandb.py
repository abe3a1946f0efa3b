"""Weights & Biases through its public API: whole histories, one quantity at a time.

Comes in: "entity/project" (and an account: `wandb login`, or WANDB_API_KEY; WANDB_BASE_URL for a server of your own).
Goes out: its runs. `scan_history` is asked for one key at a time: with several it returns only the rows that have them
all; `history`, which samples, is never asked. The clock is `_step`, which counts calls of `log` unless one was passed.
Folders of offline runs: see `wandb_offline.py`.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from lodestar._errors import RunError, TrackerError
from lodestar._extras import need
from lodestar.trackers._settings_file import flat
from lodestar.trackers._wandb_value import number
from lodestar.trackers.tracker import AbstractTracker, Listed, Logged

_PAGE = 10_000
_RUNS_PAGE = 100
T = TypeVar("T")


class WandbTracker(AbstractTracker):
    """The runs of a project."""

    kind: ClassVar[str] = "wandb"
    clock: str = "_step"
    clock_counts_calls: ClassVar[bool] = True

    def __init__(self, address: str, *, timeout: int = 60):
        parts = address.strip("/").split("/")
        if len(parts) not in (1, 2) or not all(parts):
            raise TrackerError(
                f"a W&B address is ENTITY/PROJECT or a folder of offline runs, got {address!r} (and no such folder). "
                "Fix: take both names from the project's page: wandb.ai/ENTITY/PROJECT"
            )
        wandb = need("wandb", "wandb")
        self._api = _ask(address, lambda: wandb.Api(timeout=timeout))
        self._path = "/".join(parts)
        if len(parts) == 1:
            self._path = f"{_ask(address, lambda: self._api.default_entity)}/{address}"
        self._runs: dict[str, Any] = {}

    @property
    def address(self) -> str:
        """Entity and project."""
        return self._path

    def list(self) -> Iterator[Listed]:
        """Every run of the project, oldest first."""
        options: dict[str, Any] = {"order": "+created_at", "per_page": _RUNS_PAGE}
        if "lazy" in inspect.signature(self._api.runs).parameters:  # since wandb 0.22: config and keys only when asked
            options["lazy"] = False
        pages = iter(_ask(self._path, lambda: self._api.runs(self._path, **options)))
        while (run := _ask(self._path, lambda: next(pages, None))) is not None:
            self._runs[run.id] = run
            yield _listed(run)

    def fetch(self, run: Listed, quantities: Sequence[str]) -> Mapping[str, Logged]:
        """The whole history of each wanted quantity, key by key."""
        known = self._runs.get(run.key)
        if known is None:
            known = _ask(self._path, lambda: self._api.run(f"{self._path}/{run.key}"))
        found: dict[str, Logged] = {}
        for name in dict.fromkeys(quantities):
            if name in run.quantities and len((logged := self._scan(known, name)).steps):
                found[name] = logged
        return found

    def _scan(self, run: Any, name: str) -> Logged:
        steps: list[float] = []
        values: list[float] = []
        rows = _ask(self._path, lambda: run.scan_history(keys=[name, "_step"], page_size=_PAGE))
        for row in _asked_each(self._path, rows):
            value, step = number(_within(row, name)), number(row.get("_step"))
            if value is not None and step is not None:
                steps.append(step)
                values.append(value)
        return Logged(np.array(steps, np.float64), np.array(values, np.float64))


def _listed(run: Any) -> Listed:
    keys = (getattr(run, "history_keys", None) or run.attrs.get("historyKeys") or {}).get("keys") or {}
    version = f"{run.attrs.get('historyLineCount')} {run.attrs.get('heartbeatAt')} {run.state}"
    config = flat({name: value for name, value in run.config.items() if not name.startswith("_")})
    names = tuple(name for name in keys if not name.startswith("_"))
    return Listed(run.id, run.name or run.id, version, names, config, run.state, run.project)


def _within(row: Mapping[str, Any], name: str) -> Any:
    """A value by its name; nested ones may come flat or nested."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _asked_each(address: str, rows: Any) -> Iterator[Mapping[str, Any]]:
    rows = iter(rows)
    while (row := _ask(address, lambda: next(rows, None))) is not None:
        yield row


def _ask(address: str, question: Callable[[], T]) -> T:
    """Ask W&B, and tell its many errors apart for people."""
    try:
        return question()
    except (TrackerError, RunError):
        raise
    except Exception as error:
        raise _told(address, error) from error


def _told(address: str, error: Exception) -> TrackerError:
    said = str(error).strip() or repr(error)
    low = said.lower()
    if any(word in low for word in ("api key", "api_key", "login", "logged in", "401", "unauthorized", "authenticat")):
        cure = "W&B does not know you. Fix: wandb login, or set WANDB_API_KEY"
    elif any(word in low for word in ("403", "permission", "forbidden")):
        cure = "you may not read it. Fix: ask its owner, or log in as someone who may (wandb login)"
    elif any(word in low for word in ("could not find", "not found", "404")):
        cure = "there is no such project, or you may not see it. Fix: check the names at wandb.ai/ENTITY/PROJECT"
    else:
        cure = "it did not answer. Fix: check your connection (and WANDB_BASE_URL, if you set it), then run this again"
    return TrackerError(f"W&B project {address}: {cure}; what was imported is kept. W&B said: {said}")
