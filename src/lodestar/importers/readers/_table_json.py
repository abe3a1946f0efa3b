"""JSON files of whole runs: a `history` beside a `config`, a Keras history, a Transformers `trainer_state.json`.

Understood: a list of flat records (a plain long table); a run as an object with `history` or `log_history`; a dict of
lists; a list or a dict of such runs. Everything else in a run's object is a fact that holds for the whole run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lodestar._errors import TableError
from lodestar.importers.readers._table_file import AbstractTableFile, Frame, flat_record

_HISTORIES = ("history", "log_history", "logs", "records", "metrics")


class JsonTable(AbstractTableFile):
    """One JSON document, read whole."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._frames: list[Frame] | None = None

    def names(self) -> tuple[list[str], list[str]]:
        columns: dict[str, None] = {}
        facts: dict[str, None] = {}
        for frame in self._all():
            columns |= dict.fromkeys(frame.columns)
            facts |= dict.fromkeys(frame.facts)
        return list(columns), list(facts)

    def frames(self, numbers: Iterable[str], texts: Iterable[str]) -> Iterator[Frame]:
        return iter(self._all())

    def _all(self) -> list[Frame]:
        if self._frames is None:
            try:
                self._frames = list(_frames(json.loads(self.path.read_text(encoding="utf-8-sig")), self.path))
            except (ValueError, RecursionError) as error:
                raise TableError(f"{self.path}: not JSON ({error}). Fix: check that the file is whole") from error
        return self._frames


def _frames(document: Any, path: Path) -> Iterator[Frame]:
    if _is_records(document) and not any(_history(record) for record in document):
        yield _table([flat_record(record) for record in document])
    elif isinstance(document, list) and document and all(_is_run(item) for item in document):
        for number, item in enumerate(document):
            yield _run(item, _stated_name(item) or f"{path.stem}-{number:03d}")
    elif _is_run(document):
        yield _run(document, _stated_name(document))
    elif isinstance(document, Mapping) and document and all(_is_run(item) for item in document.values()):
        for name, item in document.items():
            yield _run(item, str(name))
    else:
        raise TableError(
            f"{path}: no runs found in this JSON. Fix: give a list of records, a dict of lists, or runs that hold "
            "their records under 'history'"
        )


def _is_run(item: Any) -> bool:
    return _is_records(item) or _is_lists(item) or (isinstance(item, Mapping) and bool(_history(item)))


def _is_records(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and all(isinstance(record, Mapping) for record in item)


def _is_lists(item: Any) -> bool:
    if not isinstance(item, Mapping) or not item:
        return False
    return all(isinstance(v, list) and not any(isinstance(x, list | Mapping) for x in v) for v in item.values())


def _history(item: Mapping[str, Any]) -> str | None:
    return next((key for key in _HISTORIES if _is_records(item.get(key)) or _is_lists(item.get(key))), None)


def _run(item: Any, name: str | None) -> Frame:
    if isinstance(item, list):
        return _table([flat_record(record) for record in item], name)
    key = _history(item)
    if key is None:
        return _lists(item, name, {})
    facts = {k: v for k, v in flat_record({k: v for k, v in item.items() if k != key}).items() if v is not None}
    held = item[key]
    return _table([flat_record(r) for r in held], name, facts) if isinstance(held, list) else _lists(held, name, facts)


def _table(records: list[dict[str, Any]], name: str | None = None, facts: Mapping[str, Any] | None = None) -> Frame:
    names = dict.fromkeys(key for record in records for key in record)
    columns = {key: [record.get(key) for record in records] for key in names}
    return Frame(columns, len(records), name, facts or {})


def _lists(columns: Mapping[str, list[Any]], name: str | None, facts: Mapping[str, Any]) -> Frame:
    rows = max(len(values) for values in columns.values())
    return Frame({key: [*values, *[None] * (rows - len(values))] for key, values in columns.items()}, rows, name, facts)


def _stated_name(item: Any) -> str | None:
    if isinstance(item, Mapping):
        for key in ("run", "run_name", "name", "id"):
            if isinstance(item.get(key), str) and item[key].strip():
                return item[key]
    return None
