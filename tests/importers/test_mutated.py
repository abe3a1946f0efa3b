"""Logs of every kind with bytes changed: never a crash, and where a run has files of its own, the others are stored.

LODESTAR_FUZZ=1000 mutates that many logs of each kind; the default is a few.
"""

import json
import os
import random
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.importers.test_bad_runs import lightning, trainer
from tests.importers.test_hostile_server import EXPERIMENTS, Hostile, listed, values

from lodestar._errors import LodestarError
from lodestar.importers import import_runs, open_reader
from lodestar.importers.readers._record_file import masked_crc
from lodestar.runs import RunStore

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Arrow decodes a row that is not whole before it asks about it, and tells of bad bytes on stderr; then it goes on."""
COUNT = int(os.environ.get("LODESTAR_FUZZ", "10"))
GOOD = ("a", "b")
STEPS = range(1, 9)
Frame = Callable[[Sequence[bytes]], bytes]
Target = tuple[Path, Sequence[bytes], Frame]
"""A file to change: its pieces, and how they are put together (with their checksums)."""
ODD = [b'"x"', b"null", b"1e999", b"NaN", b"-1", b"9" * 30, b"[[[[", b"{}", b'"\\ud800"', b"\xff", b"\x00", b"", b"\n"]


def row(step: int) -> dict[str, float]:
    return {"step": step, "train_loss": 1 / step, "val_acc": 1 - 1 / step, "lr": 0.1}


def plain(*paths: Path) -> list[Target]:
    return [(path, [path.read_bytes()], b"".join) for path in paths]


def varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def field(number: int, value: bytes | int) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensorboard_file(records: Sequence[bytes]) -> bytes:
    def framed(data: bytes) -> bytes:
        length = struct.pack("<Q", len(data))
        return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))

    return b"".join(map(framed, records))


def wandb_file(records: Sequence[bytes]) -> bytes:
    def framed(data: bytes) -> bytes:
        return struct.pack("<IHB", zlib.crc32(data, zlib.crc32(b"\x01")), len(data), 1) + data

    return b":W&B\xe1\xbe\x00" + b"".join(map(framed, records))


def make_tensorboard(place: Path) -> list[Target]:
    def event(step: int, tag: str, value: float) -> bytes:
        scalar = field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)
        return b"\x09" + struct.pack("<d", 1.0) + field(2, step) + field(5, field(1, scalar))

    records = [event(step, tag, value) for step in STEPS for tag, value in row(step).items() if tag != "step"]
    for name in (*GOOD, "odd"):
        (place / name).mkdir(parents=True)
        (place / name / "events.out.tfevents.1.host").write_bytes(tensorboard_file(records))
        (place / name / "hparams.yaml").write_text("lr: 0.1\noptimizer:\n  name: adam\n")
    framed = (place / "odd" / "events.out.tfevents.1.host", records, tensorboard_file)
    return [framed, *plain(place / "odd" / "hparams.yaml")]


def make_wandb(place: Path) -> list[Target]:
    def records(name: str) -> list[bytes]:
        def item(key: str, value: object) -> bytes:
            return field(1, key.encode()) + field(16, json.dumps(value).encode())

        config = field(1, item("opt", {"lr": 0.1, "betas": [0.9, 0.99]}))
        run = field(1, name.encode()) + field(3, b"project") + field(4, config) + field(8, name.encode())
        rows = [b"".join(field(1, item(key, value)) for key, value in row(step).items()) for step in STEPS]
        history = [field(2, items + field(2, field(1, step))) for step, items in zip(STEPS, rows, strict=True)]
        return [field(17, run), *history, field(18, field(1, 0))]

    for name in (*GOOD, "odd"):
        folder = place / f"offline-run-1-{name}"
        folder.mkdir(parents=True)
        (folder / f"run-{name}.wandb").write_bytes(wandb_file(records(name)))
    return [(place / "offline-run-1-odd" / "run-odd.wandb", records("odd"), wandb_file)]


def make_lightning(place: Path) -> list[Target]:
    for name in (*GOOD, "odd"):
        lightning(place, name, "lr: 0.1\nnet: &n {width: [1, 2]}\nsame: *n\n")
    return plain(place / "odd" / "metrics.csv", place / "odd" / "hparams.yaml")


def make_ultralytics(place: Path) -> list[Target]:
    for name in (*GOOD, "odd"):
        (place / name).mkdir(parents=True)
        rows = "".join(f"{s},{1 / s},{1 - 1 / s},0.1\n" for s in STEPS)
        (place / name / "results.csv").write_text("epoch, train/loss, metrics/acc, lr/pg0\n" + rows)
        (place / name / "args.yaml").write_text("lr0: 0.1\nseed: 1\nepochs: 8\n")
    return plain(place / "odd" / "results.csv", place / "odd" / "args.yaml")


def make_huggingface(place: Path) -> list[Target]:
    for name in (*GOOD, "odd"):
        trainer(place, name)
        (place / name / "training_args.json").write_text(json.dumps({"lr": 0.1, "seed": 3, "optim": {"name": "adam"}}))
    return plain(place / "odd" / "trainer_state.json", place / "odd" / "training_args.json")


def make_ray(place: Path) -> list[Target]:
    trials = []
    for name in (*GOOD, "odd"):
        (place / name).mkdir(parents=True)
        lines = [json.dumps({"training_iteration": s, "config": {}, "more": {"x": s}} | row(s)) for s in STEPS]
        (place / name / "result.json").write_text("\n".join(lines) + "\n")
        (place / name / "params.json").write_text(json.dumps({"lr": 0.1, "net": {"width": 3}}))
        trials.append([json.dumps({"relative_logdir": name, "status": "TERMINATED"}), "pickle"])
    state = place / "experiment_state-1.json"
    state.write_text(json.dumps({"trial_data": trials}))
    return plain(place / "odd" / "result.json", place / "odd" / "params.json", state)


def make_mlflow_files(place: Path) -> list[Target]:
    (place / "0").mkdir(parents=True)
    (place / "0" / "meta.yaml").write_text("experiment_id: '0'\nname: digits\nlifecycle_stage: active\n")
    for name in (*GOOD, "odd"):
        folder = place / "0" / name
        for part in ("metrics", "params", "tags"):
            (folder / part).mkdir(parents=True)
        for key in ("train_loss", "val_acc", "lr"):
            (folder / "metrics" / key).write_text("".join(f"1 {row(step)[key]} {step}\n" for step in STEPS))
        (folder / "params" / "seed").write_text("1")
        meta = f"run_id: {name}\nrun_name: {name}\nstatus: 3\nlifecycle_stage: active\nstart_time: 1\nend_time: 2\n"
        (folder / "meta.yaml").write_text(meta)
    odd = place / "0" / "odd"
    return plain(odd / "meta.yaml", odd / "meta.yaml", odd / "metrics" / "train_loss", odd / "params" / "seed")


def make_mlflow_sqlite(place: Path) -> list[Target]:
    place.mkdir()
    with sqlite3.connect(place / "mlflow.db") as database:
        database.executescript(
            "CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT);"
            "CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, status TEXT, start_time INT, end_time INT,"
            " lifecycle_stage TEXT, experiment_id INTEGER);"
            "CREATE TABLE metrics (key TEXT, value REAL, step INTEGER, run_uuid TEXT, is_nan INTEGER);"
            "CREATE TABLE latest_metrics (key TEXT, value REAL, timestamp INTEGER, step INTEGER, run_uuid TEXT);"
            "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);"
            "CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);"
            "INSERT INTO experiments VALUES (0, 'digits', 'active');"
        )
        for name in (*GOOD, "odd"):
            database.execute("INSERT INTO runs VALUES (?, ?, 'FINISHED', 1, 2, 'active', 0)", (name, name))
            for key in ("train_loss", "val_acc", "lr"):
                points = [(key, row(step)[key], step, name) for step in STEPS]
                database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, 0)", points)
                database.execute("INSERT INTO latest_metrics VALUES (?, 0.5, 1, 8, ?)", (key, name))
    database.close()
    return plain(place / "mlflow.db")


def make_optuna(place: Path) -> list[Target]:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    place.mkdir()
    backend = optuna.storages.journal.JournalFileBackend(str(place / "journal.log"))
    study = optuna.create_study(study_name="s", storage=optuna.storages.JournalStorage(backend), direction="maximize")
    for _ in (*GOOD, "odd"):
        trial = study.ask()
        trial.set_user_attr("loss", {str(step): 1 / step for step in STEPS})
        for step in STEPS:
            trial.report(1 - 1 / step, step)
        study.tell(trial, 0.5)
    return plain(place / "journal.log")


def make_table(place: Path) -> list[Target]:
    rows = [{"run": name, **row(step)} for name in (*GOOD, "odd") for step in STEPS]
    for ending in ("csv", "jsonl", "json", "parquet"):
        (place / ending).mkdir(parents=True)
    lines = [",".join(rows[0]), *(",".join(map(str, each.values())) for each in rows)]
    (place / "csv" / "t.csv").write_text("\n".join(lines) + "\n")
    (place / "jsonl" / "t.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (place / "json" / "t.json").write_text(json.dumps({n: {"config": {"seed": 1}, "history": rows[:8]} for n in "abc"}))
    pq.write_table(pa.Table.from_pylist(rows), place / "parquet" / "t.parquet")
    return plain(*(place / ending / f"t.{ending}" for ending in ("csv", "jsonl", "json", "parquet")))


def make_tables(place: Path) -> list[Target]:
    place.mkdir()
    for name in GOOD:
        lines = [",".join(row(1)), *(",".join(map(str, row(step).values())) for step in STEPS)]
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    shutil.copy(place / "a.csv", place / "odd.csv")
    (place / "odd2.jsonl").write_text("".join(json.dumps(row(step)) + "\n" for step in STEPS))
    pq.write_table(pa.Table.from_pylist([row(step) for step in STEPS]), place / "odd3.parquet")
    return plain(*(place / name for name in ("odd.csv", "odd2.jsonl", "odd3.parquet")))


OWN_FILES = {
    "tensorboard": make_tensorboard,
    "wandb": make_wandb,
    "lightning": make_lightning,
    "ultralytics": make_ultralytics,
    "huggingface": make_huggingface,
    "ray": make_ray,
    "mlflow": make_mlflow_files,
    "table": make_tables,
}
ONE_FILE = {"mlflow": make_mlflow_sqlite, "optuna": make_optuna, "table": make_table}


def mutated(data: bytes, luck: random.Random) -> bytes:
    """Some bytes changed, cut, doubled, or replaced by what no reader expects."""
    for _ in range(luck.choice((1, 1, 2, 5))):
        start = luck.randrange(len(data) + 1)
        stop = min(len(data), start + luck.choice((1, 1, 2, 4, 16, 200)))
        middle = luck.choice(
            (
                luck.randbytes(stop - start),
                luck.choice(ODD),
                b"",
                data[start:stop] * 2,
                bytes(byte ^ (1 << luck.randrange(8)) for byte in data[start:stop]),
            )
        )
        data = data[:start] if luck.random() < 0.05 else data[:start] + middle + data[stop:]
    return data


def changed(target: Target, luck: random.Random) -> bytes:
    """The file with one piece changed under a right checksum, or changed as a whole."""
    _, pieces, frame = target
    if luck.random() < 0.3:
        return mutated(frame(pieces), luck)
    which = luck.randrange(len(pieces))
    return frame([mutated(piece, luck) if at == which else piece for at, piece in enumerate(pieces)])


def imported(kind: str, address: str, store: Path) -> list[str]:
    report = import_runs(open_reader(kind, address), RunStore(store))
    assert len(RunStore(store).read()) == len(set(report.imported))
    return report.imported


@pytest.mark.parametrize("kind", OWN_FILES)
def test_a_mutated_run_costs_no_other(tmp_path, kind):
    targets = OWN_FILES[kind](tmp_path / "place")
    assert len(imported(kind, str(tmp_path / "place"), tmp_path / "whole")) == (5 if kind == "table" else 3)
    for number in range(COUNT):
        luck = random.Random(f"{kind} {number}")
        target = luck.choice(targets)
        target[0].write_bytes(changed(target, luck))
        stored = imported(kind, str(tmp_path / "place"), tmp_path / f"s{number}")
        assert set(GOOD) <= set(stored), f"mutation {number}"
        target[0].write_bytes(target[2](target[1]))


@pytest.mark.parametrize("kind", ONE_FILE)
def test_a_mutated_file_of_many_runs_is_a_sentence_at_worst(tmp_path, kind):
    targets, read = ONE_FILE[kind](tmp_path / "place"), 0
    for number in range(COUNT):
        luck = random.Random(f"{kind} {number}")
        target = luck.choice(targets)
        target[0].write_bytes(changed(target, luck))
        try:
            read += bool(imported(kind, str(target[0]), tmp_path / f"s{number}"))
        except LodestarError as error:
            assert str(error), f"mutation {number}"
        target[0].write_bytes(target[2](target[1]))
    assert read, "no mutation was ever read: they are all too coarse"


def test_a_mutated_answer_of_a_server_is_a_sentence_at_worst(tmp_path):
    whole = {"experiments": EXPERIMENTS, "runs": listed(*GOOD), "bulk": values(*GOOD)}
    for number in range(COUNT):
        luck = random.Random(f"server {number}")
        part = luck.choice([*whole])
        with Hostile(**{part: mutated(json.dumps(whole[part]).encode(), luck)}) as server:
            try:
                imported("mlflow", server.address, tmp_path / f"s{number}")
            except LodestarError as error:
                assert str(error), f"mutation {number}"
