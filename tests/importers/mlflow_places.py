"""Real MLflow stores for tests: a fresh SQLite store by copying an empty one, a file store, a server on a free port."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from lodestar.testing import Written

QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def client(address: str):
    """MLflow's own client."""
    os.environ.update(QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mlflow.tracking

        return mlflow.tracking.MlflowClient(tracking_uri=address)


def write(address: str, experiment: str, runs: Sequence[Written], *, status: str = "FINISHED") -> list[str]:
    """Write runs in batches, as `mlflow.log_metrics` would; returns their ids."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.entities import Metric, Param

        store = client(address)
        found = store.get_experiment_by_name(experiment)
        key = found.experiment_id if found else store.create_experiment(experiment)
        ids = []
        for run in runs:
            made = store.create_run(key, run_name=run.name).info.run_id
            now = int(time.time() * 1000)
            entries = [
                Metric(name, value, now + step, step)
                for name, curve in run.curves.items()
                for step, value in curve.items()
            ]
            params = [Param(name, str(value)) for name, value in run.config.items()]
            for start in range(0, max(len(entries), 1), 900):
                store.log_batch(made, metrics=entries[start : start + 900], params=params if start == 0 else [])
            if status != "RUNNING":
                store.set_terminated(made, status=status)
            ids.append(made)
        return ids


def empty_database(folder: Path) -> Path:
    """An SQLite store with nothing in it; making one takes seconds, copying it none."""
    path = folder / "empty.db"
    if not path.exists():
        client(f"sqlite:///{path}").search_experiments()
        _let_go(path)
    return path


def copied(empty: Path, to: Path) -> str:
    """A store of one's own."""
    if not to.exists():
        shutil.copy(empty, to)
    return f"sqlite:///{to}"


def _let_go(path: Path) -> None:
    """Close what SQLAlchemy keeps open, so that no file is left unclosed at the end."""
    import gc

    gc.collect()


@contextlib.contextmanager
def server(folder: Path, *, backend: str | None = None, workers: int = 1) -> Iterator[tuple[str, int]]:
    """A real `mlflow server` on 127.0.0.1, ended with the block; yields its address and its process."""
    for attempt in (1, 2, 3):  # someone else may take the port before the server does
        process, address = _started(folder, backend, workers)
        try:
            _wait(process, address, folder / "server.log")
        except RuntimeError:
            _ended(process)
            if attempt == 3 or "address already in use" not in (folder / "server.log").read_text().lower():
                raise
        else:
            break
    try:
        yield address, process.pid
    finally:
        _ended(process)


def _started(folder: Path, backend: str | None, workers: int) -> tuple[subprocess.Popen, str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", backend or f"sqlite:///{folder / 'server.db'}", "--workers", str(workers)]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    if workers > 1:  # a busy machine takes long to start one: not to be taken for dead meanwhile
        command += ["--uvicorn-opts", "--timeout-worker-healthcheck 120"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **QUIET}, start_new_session=True)
    return process, f"http://127.0.0.1:{port}"


def _ended(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 15)
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()


def _wait(process: subprocess.Popen, address: str, log: Path) -> None:
    until = time.monotonic() + 600  # a busy machine takes its time
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=1) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the MLflow server did not start: {log.read_text()[-2000:]}")
