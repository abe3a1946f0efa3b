"""Weights & Biases through its public API: whole histories, one quantity at a time.

`scan_history` is asked for one key at a time: with several it returns only the rows that have them all; `history`,
which samples, is never asked. The clock is `_step`, which counts calls of `log` unless one was passed.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from lodestar._credentials import cleaned, safe_cause, stripped
from lodestar._errors import RunError, TrackerError
from lodestar._extras import need
from lodestar.importers.reader import AbstractReader, Curves, ListedRun, LoggedCurve, described
from lodestar.importers.readers._settings_file import flat
from lodestar.importers.readers._wandb_file import number
from lodestar.runs.note import Note, NoteKind

_PAGE = 5_000  # steps to a request; far larger pages lost rows (wandb issue 1742)
_RUNS_PAGE = 100
T = TypeVar("T")


class WandbReader(AbstractReader):
    """The runs of a project."""

    kind: ClassVar[str] = "wandb"
    clock: str = "_step"
    clock_counts_calls: ClassVar[bool] = True

    def __init__(self, address: str, *, timeout: int = 60):
        parts = address.strip("/").split("/")
        if len(parts) not in (1, 2) or not all(parts):
            raise TrackerError(
                f"a W&B address is ENTITY/PROJECT or a folder of offline runs, got {stripped(address)!r} (and no such "
                "folder). Fix: take both names from the project's page: wandb.ai/ENTITY/PROJECT"
            )
        wandb = need("wandb", "wandb")
        self._api = _ask(address, lambda: wandb.Api(timeout=timeout))
        self.address = "/".join(parts)
        if len(parts) == 1:
            self.address = f"{_ask(address, lambda: self._api.default_entity)}/{address}"
        self._runs: dict[str, Any] = {}

    def list(self) -> Iterator[ListedRun]:
        options: dict[str, Any] = {"order": "+created_at", "per_page": _RUNS_PAGE}
        if "lazy" in inspect.signature(self._api.runs).parameters:  # since wandb 0.22: config and keys only when asked
            options["lazy"] = False
        pages = iter(_ask(self.address, lambda: self._api.runs(self.address, **options)))
        while (run := _ask(self.address, lambda: next(pages, None))) is not None:
            self._runs[run.id] = run
            if (found := described(ListedRun(run.id, run.id, ""), lambda run=run: _listed(run))) is not None:
                yield found

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        known = self._runs.get(run.key)
        if known is None:
            known = _ask(self.address, lambda: self._api.run(f"{self.address}/{run.key}"))
        counts = _counts(known)
        wanted = [name for name in dict.fromkeys(quantities) if name in counts]
        return {name: self._scan(known, name, counts[name]) for name in wanted}

    def _scan(self, run: Any, name: str, count: int) -> LoggedCurve:
        rows = self._rows(run, [name])
        if rows and "_step" not in rows[0]:  # newer clients add the step to the keys, older ones do not
            rows = self._rows(run, [name, "_step"])
        pairs = [(number(row.get("_step")), number(_within(row, name))) for row in rows]
        found = [(step, value) for step, value in pairs if step is not None and value is not None]
        if not found:
            raise RunError(
                f"W&B counts {count} values of {name!r} in run {run.id}, but its client returned none. "
                "Fix: pip install --upgrade wandb (versions 0.27.1 and 0.27.2 do this), then import again"
            )
        short = Note(f"W&B counts {count} values of {name!r}, {len(found)} came", NoteKind.INCOMPLETE)
        return LoggedCurve.of(found, (short,) if len(found) < count else ())

    def _rows(self, run: Any, keys: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        return _ask(self.address, lambda: [*run.scan_history(keys=[*keys], page_size=_PAGE)])


def _listed(run: Any) -> ListedRun:
    changes = (getattr(run, name, None) for name in ("history_line_count", "heartbeat_at", "state"))
    config = flat({name: value for name, value in run.config.items() if not name.startswith("_")})
    version = " ".join(map(str, changes))
    return ListedRun(run.id, run.name or run.id, version, tuple(_counts(run)), config, run.state, run.project)


def _counts(run: Any) -> dict[str, int]:
    """How many numbers W&B counts under each name; what never was one (images, text) is left out."""
    keys = (getattr(run, "history_keys", None) or {}).get("keys") or {}
    found: dict[str, int] = {}
    for name, told in keys.items():
        types = told.get("typeCounts") if isinstance(told, Mapping) else None
        numbers = sum(entry.get("count", 0) for entry in types if entry.get("type") == "number") if types else 0
        if not name.startswith("_") and (numbers or not types):
            found[name] = numbers
    return found


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


def _ask(address: str, question: Callable[[], T]) -> T:
    """Ask W&B, and tell its many errors apart for people."""
    try:
        return question()
    except (TrackerError, RunError):
        raise
    except Exception as error:  # noqa: BLE001  W&B raises many kinds
        raise _told(address, error) from safe_cause(error)


def _told(address: str, error: Exception) -> TrackerError:
    said = cleaned(error).strip() or type(error).__name__
    low = said.lower()  # W&B raises much the same error for everything: only its words tell
    if any(word in low for word in ("api key", "api_key", "login", "logged in", "401", "unauthorized", "authenticat")):
        cure = "W&B does not know you. Fix: wandb login, or set WANDB_API_KEY"
    elif any(word in low for word in ("403", "permission", "forbidden")):
        cure = "you may not read it. Fix: ask its owner, or log in as someone who may (wandb login)"
    elif any(word in low for word in ("could not find", "not found", "404")):
        cure = "there is no such project, or you may not see it. Fix: check the names at wandb.ai/ENTITY/PROJECT"
    else:
        cure = "it did not answer. Fix: check your connection (and WANDB_BASE_URL, if you set it), then run this again"
    return TrackerError(f"W&B project {address}: {cure}; what was imported is kept. W&B said: {said}")
