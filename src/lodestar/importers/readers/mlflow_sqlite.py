"""MLflow's SQLite store, read in place: read-only, beside a server that may be writing.

Knows the tables of MLflow 1.0 and later; one that looks otherwise is left to MLflow's own client.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from lodestar._errors import TrackerError
from lodestar.importers.reader import ListedRun, LoggedCurve, described
from lodestar.importers.readers.mlflow_backend import INFO, AbstractBackend, by_key, listed

_TABLES = {
    "experiments": {"experiment_id", "name", "lifecycle_stage"},
    "runs": {"run_uuid", "name", "status", "start_time", "end_time", "lifecycle_stage", "experiment_id"},
    "metrics": {"key", "value", "step", "run_uuid", "is_nan"},
    "latest_metrics": {"key", "value", "timestamp", "step", "run_uuid"},
    "params": {"key", "value", "run_uuid"},
    "tags": {"key", "value", "run_uuid"},
}
_PAGE = 500


def is_readable(path: Path) -> bool:
    """Whether the tables are those we know. No such file, or none of MLflow's: a `TrackerError`."""
    if not path.is_file():
        raise TrackerError(
            f"there is no database {path.absolute()}. Fix: check the path (sqlite:///FILE from here, sqlite:////FILE "
            "from the root)"
        )
    try:
        with contextlib.closing(_connect(path)) as connection:
            asked = {name: connection.execute(f"PRAGMA table_info({name})") for name in _TABLES}
            columns = {name: {row[1] for row in rows} for name, rows in asked.items()}
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes a damaged name in its error, byte for byte
        raise TrackerError(f"cannot read {path} as an SQLite database: {error}. Fix: check the file") from error
    if not columns["runs"] or not columns["metrics"]:
        raise TrackerError(f"{path} is an SQLite database, but none of MLflow's. Fix: check the path")
    return all(needed <= columns[name] for name, needed in _TABLES.items())


class SqliteBackend(AbstractBackend):
    """An SQLite store. One connection, one query at a time."""

    def __init__(self, path: Path):
        self.address = f"sqlite:///{path.absolute()}"
        self._path = path
        self._connection = _connect(path)
        self._lock = threading.Lock()

    def experiments(self) -> dict[str, str]:
        rows = self._ask(
            "SELECT experiment_id, name FROM experiments WHERE lifecycle_stage = 'active' ORDER BY experiment_id"
        )
        return {str(key): name for key, name in rows}

    def runs(self, experiments: Mapping[str, str]) -> Iterator[ListedRun]:
        for key, experiment in experiments.items():
            query = "SELECT run_uuid FROM runs WHERE experiment_id = ? ORDER BY start_time, run_uuid"
            keys = [row[0] for row in self._ask(query, [key])]
            for start in range(0, len(keys), _PAGE):
                yield from self._page(keys[start : start + _PAGE], experiment)

    def _page(self, keys: Sequence[str], experiment: str) -> Iterator[ListedRun]:
        among = f"WHERE run_uuid IN ({_marks(keys)})"
        fields = "run_uuid, name, status, end_time, lifecycle_stage"
        infos = {row[0]: row for row in self._ask(f"SELECT {fields} FROM runs {among}", keys)}
        latest, params, tags = ({key: {} for key in keys} for _ in range(3))
        for table, found in (("params", params), ("tags", tags)):
            for run, name, value in self._ask(f"SELECT run_uuid, key, value FROM {table} {among}", keys):
                found[run][name] = value or ""
        last = f"SELECT run_uuid, key, step, timestamp, value FROM latest_metrics {among} ORDER BY key"
        for run, name, *entry in self._ask(last, keys):
            latest[run][name] = [*entry[:2], str(entry[2])]
        for key in keys:
            run = ListedRun(str(key), str(key), "", group=experiment)

            def read(key: str = key) -> ListedRun:
                info = dict(zip(INFO, infos[key], strict=True))
                return listed(info, experiment, latest[key], None, params[key], tags[key])

            yield described(run, read) or run

    def histories(self, runs: Sequence[str], quantities: Sequence[str]) -> dict[str, dict[str, LoggedCurve]]:
        """In the order of the rows, which is that of logging."""
        rows = self._ask(
            "SELECT run_uuid, key, step, CASE WHEN is_nan THEN NULL ELSE value END FROM metrics "
            f"WHERE run_uuid IN ({_marks(runs)}) AND key IN ({_marks(quantities)}) ORDER BY rowid",
            [*runs, *quantities],
        )
        found: dict[str, dict[str, LoggedCurve]] = {run: {} for run in runs}
        for (run, key), curve in by_key(((run, key), step, value) for run, key, step, value in rows).items():
            found[run][key] = curve
        return found

    def _ask(self, query: str, values: Sequence[object] = ()) -> list[tuple]:
        try:
            with self._lock:
                return self._connection.execute(query, tuple(values)).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise TrackerError(
                f"cannot read {self._path}: {error}. Fix: if a server writes to it, import from the server's address "
                "instead; else check the file"
            ) from error


def _connect(path: Path) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=30.0, check_same_thread=False)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
