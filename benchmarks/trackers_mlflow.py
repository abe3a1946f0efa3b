"""MLflow's bar: 1,000 runs x 3 metrics x 500 points from a real `mlflow server` in under 60 s, again in under 3 s.

Comes in: nothing. Goes out: seconds of the first and second import and of a plain loop over `get_metric_history` with
MLflow's own client on a share of the same runs, in the same process against the same server; how busy the server was
meanwhile; and the same import from the SQLite file itself. The store is filled row by row with SQL, as the client
would have filled it in the better part of an hour.
"""

import contextlib
import os
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lodestar.importers import import_runs, open_reader
from lodestar.runs import RunStore

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.importers import mlflow_places

BAR = {"first_s": 60.0, "second_s": 3.0, "times_the_naive_loop": 3.0}
METRICS = ("train_loss", "val_acc", "lr")


def run(runs: int = 1_000, points: int = 500, naive_runs: int = 60, workers: int = 4) -> dict[str, object]:
    """Measure. `workers` are the server's processes (4 is MLflow's default)."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        database = folder / "server.db"
        mlflow_places.copied(mlflow_places.empty_database(folder), database)
        _fill(database, runs, points)
        with mlflow_places.server(folder, backend=f"sqlite:///{database}", workers=workers) as (address, process):
            found = _served(address, process, folder, runs, naive_runs)
        found |= _local(database, folder, runs)
    return {"runs": runs, "points": points, **found, "bar": BAR}


def _served(address: str, process: int, folder: Path, runs: int, naive_runs: int) -> dict[str, object]:
    naive = _naive(address, naive_runs) * runs / naive_runs
    began, busy = time.perf_counter(), _cpu_seconds(process)
    mine = time.process_time()
    first = import_runs(open_reader("mlflow", address), RunStore(folder / "store"))
    seconds = time.perf_counter() - began
    busy, mine = _cpu_seconds(process) - busy, time.process_time() - mine
    assert len(first.imported) == runs, (len(first.imported), first.left_out[:3])
    began = time.perf_counter()
    second = import_runs(open_reader("mlflow", address), RunStore(folder / "store"))
    again = time.perf_counter() - began
    assert len(second.unchanged) == runs and not second.imported
    return {
        "first_s": round(seconds, 1),
        "second_s": round(again, 2),
        "naive_loop_s": round(naive, 1),
        "naive_loop_measured_on_runs": naive_runs,
        "times_the_naive_loop": round(naive / seconds, 2),
        "server_cpu_s_during_first": round(busy, 1),
        "our_cpu_s_during_first": round(mine, 1),
        "cores": os.cpu_count(),
    }


def _naive(address: str, runs: int) -> float:
    """What people write: list the runs, then ask for each metric of each."""
    client = mlflow_places.client(address)
    key = "7"
    client.get_metric_history(client.search_runs([key], max_results=1)[0].info.run_id, METRICS[0])  # warm
    began = time.perf_counter()
    for found in client.search_runs([key], max_results=runs):
        for metric in METRICS:
            assert len(client.get_metric_history(found.info.run_id, metric)) > 0
    return time.perf_counter() - began


def _local(database: Path, folder: Path, runs: int) -> dict[str, object]:
    began = time.perf_counter()
    report = import_runs(open_reader("mlflow", f"sqlite:///{database}"), RunStore(folder / "local"))
    assert len(report.imported) == runs
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    import_runs(open_reader("mlflow", f"sqlite:///{database}"), RunStore(folder / "local"))
    return {"sqlite_first_s": round(seconds, 1), "sqlite_second_s": round(time.perf_counter() - began, 2)}


def _fill(database: Path, runs: int, points: int) -> None:
    """An experiment as the client would have written it."""
    random = np.random.default_rng(0)
    steps = np.arange(1, points + 1)
    with contextlib.closing(sqlite3.connect(database)) as base, base:
        base.execute(
            "INSERT INTO experiments (experiment_id, name, lifecycle_stage, artifact_location) VALUES (7, 'bench', "
            "'active', ?)",
            [str(database.parent / "artifacts")],
        )
        for number in range(runs):
            key = uuid.UUID(bytes=random.bytes(16)).hex
            _insert_run(base, key, number)
            curves = (2 / np.sqrt(steps) + random.normal(0, 0.05, points), random.random(points), 1e-3 / steps)
            for metric, values in zip(METRICS, curves, strict=True):
                rows = [
                    (metric, float(value), 1_700_000_000_000 + int(step), key, int(step), 0)
                    for step, value in zip(steps, values, strict=True)
                ]
                columns = "(key, value, timestamp, run_uuid, step, is_nan) VALUES (?, ?, ?, ?, ?, ?)"
                base.executemany(f"INSERT INTO metrics {columns}", rows)
                base.execute(f"INSERT INTO latest_metrics {columns}", rows[-1])


def _insert_run(base: sqlite3.Connection, key: str, number: int) -> None:
    base.execute(
        "INSERT INTO runs (run_uuid, name, source_type, user_id, status, start_time, end_time, lifecycle_stage, "
        "experiment_id, artifact_uri) VALUES (?, ?, 'LOCAL', 'me', 'FINISHED', ?, ?, 'active', 7, '')",
        [key, f"run-{number}", 1_700_000_000_000 + number, 1_700_000_100_000 + number],
    )
    params = {"seed": number, "batch_size": 128, "lr_scheduler_type": "cosine", "learning_rate": 1e-3}
    rows = [(name, str(value), key) for name, value in params.items()]
    base.executemany("INSERT INTO params (key, value, run_uuid) VALUES (?, ?, ?)", rows)


def _cpu_seconds(leader: int) -> float:
    """Processor time of the server: all processes of its session."""
    ticks = 0
    for entry in _processes():
        fields = entry.rpartition(")")[2].split()
        if int(fields[3]) == leader:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _processes() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            yield path.read_text()


if __name__ == "__main__":
    import json

    print(json.dumps(run(*map(int, sys.argv[1:])), indent=2))
