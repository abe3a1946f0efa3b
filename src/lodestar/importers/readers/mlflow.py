"""MLflow: a tracking server, an SQLite store, an old `mlruns` folder, or whatever else MLflow's own client can open.

Which backend answers is decided here. Only the last imports MLflow, which takes seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lodestar._errors import TrackerError
from lodestar.importers.reader import AbstractBulkReader, Curves, ListedRun, chosen
from lodestar.importers.readers.mlflow_backend import AbstractBackend


class MlflowReader(AbstractBulkReader):
    """Runs in MLflow; `experiment` names those to read (default: all that are not deleted)."""

    kind = "mlflow"
    keys_are_global = True
    bulk = 50
    threads = 3

    def __init__(self, address: str, *, experiment: Sequence[str] = ()):
        self._backend = _open(address)
        self.address = self._backend.address
        there = self._backend.experiments()
        ids = {name: key for key, name in there.items()} | {key: key for key in there}
        wanted = [ids[name] for name in chosen(experiment, list(ids), "experiment", self.address)]
        self._experiments = {key: there[key] for key in wanted or there}

    def list(self) -> Iterator[ListedRun]:
        return self._backend.runs(self._experiments)

    def fetch(self, run: ListedRun, quantities: Sequence[str]) -> Curves:
        return self._backend.histories([run.key], quantities).get(run.key, {})

    def fetch_many(self, runs: Sequence[ListedRun], quantities: Sequence[str]) -> Mapping[str, Curves]:
        return self._backend.histories([run.key for run in runs], quantities)


def _open(address: str) -> AbstractBackend:
    scheme = urlsplit(address).scheme.lower()
    if scheme in ("http", "https"):
        from lodestar.importers.readers.mlflow_server import ServerBackend

        return ServerBackend(address)
    if scheme == "sqlite":
        return _sqlite(Path(unquote(address.split(":///", 1)[-1].split("?")[0])))
    if scheme in ("", "file") or len(scheme) == 1:  # one letter: a Windows drive
        path = Path(unquote(urlsplit(address).path) if scheme == "file" else address).expanduser()
        return _sqlite(path) if path.is_file() else _folder(path)
    from lodestar.importers.readers.mlflow_client import ClientBackend

    return ClientBackend(address)


def _sqlite(path: Path) -> AbstractBackend:
    from lodestar.importers.readers.mlflow_sqlite import SqliteBackend, is_readable

    if is_readable(path):
        return SqliteBackend(path)
    from lodestar.importers.readers.mlflow_client import ClientBackend

    return ClientBackend(f"sqlite:///{path.absolute()}")


def _folder(path: Path) -> AbstractBackend:
    from lodestar.importers.readers.mlflow_files import FilesBackend

    if not path.exists():
        raise TrackerError(
            f"there is no MLflow store at {path}. Fix: check the path, or give the server's address (http://HOST:PORT) "
            "or a database (sqlite:///FILE)"
        )
    database = path / "mlflow.db"
    if database.is_file() and not FilesBackend.is_one(path):
        return _sqlite(database)
    return FilesBackend(path / "mlruns" if (path / "mlruns").is_dir() and not FilesBackend.is_one(path) else path)
