"""W&B: the contract on offline runs by the real client, and on the public API (the real client, a server of ours).

Both live in one process: the client reads its settings once.
"""

import contextlib
import math
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.importers import wandb_places

from lodestar._errors import TrackerError
from lodestar.importers import import_runs, open_reader
from lodestar.importers.readers.wandb import WandbReader
from lodestar.importers.readers.wandb_offline import WandbOfflineReader
from lodestar.runs import RunStore, Status
from lodestar.testing import ReaderContract, Written

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def server(tmp_path_factory):
    yield from wandb_places.serving(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Runs written by the real client, each once: a folder by what is in it."""
    return tmp_path_factory.mktemp("written"), {}


class TestOffline(ReaderContract):
    @pytest.fixture(autouse=True)
    def _given(self, written):
        self.folder, self.known = written

    def make(self, place, runs):
        for run in runs:
            source = self.known.setdefault(repr(run), self.folder / str(len(self.known)))
            if not source.exists():
                source.mkdir()
                wandb_places.offline(source, [run])
            ignored = shutil.ignore_patterns("latest-run", "*.log")  # links
            shutil.copytree(source, place, dirs_exist_ok=True, ignore=ignored)

    def open(self, place):
        return WandbOfflineReader(place / "wandb")

    def nowhere(self, place):
        return WandbOfflineReader(place)


class TestApi(ReaderContract):
    @pytest.fixture(autouse=True)
    def _given(self, server):
        self.server = server

    def make(self, place, runs):
        self.server.projects.setdefault(place.name, []).extend(runs)

    def open(self, place):
        return WandbReader(f"me/{place.name}")

    def nowhere(self, place):
        return WandbReader("me/no-such-project")


def test_quantities_are_asked_for_one_at_a_time(server):
    run = Written("one", {"loss": dict.fromkeys(range(20), 1.0), "acc": {5: 0.5, 15: 0.6}})
    server.projects["alone"] = [run]
    server.asked.clear()
    tracker = WandbReader("me/alone")
    (listed,) = tracker.list()
    assert set(listed.quantities) == {"loss", "acc"}  # and no image
    found = tracker.fetch(listed, ["loss", "acc"])
    assert len(found["loss"].steps) == 20 and found["acc"].steps.tolist() == [5, 15]
    assert all({*spec["keys"]} - {"_step"} in ({"loss"}, {"acc"}) for _, spec in server.asked)
    assert all(spec["samples"] >= spec["maxStep"] - spec["minStep"] for _, spec in server.asked)


def test_all_pages_of_a_project_are_listed(server):
    server.projects["many"] = [Written(f"run-{n}", {"loss": {1: 1.0}}) for n in range(5)]
    assert len([*WandbReader("me/many").list()]) == 5


def test_a_crashed_run_is_cut_short_and_the_step_is_the_global_step(server, tmp_path):
    curves = {
        "train/loss": {n: 1 / (n + 1) for n in range(10)},
        "val/acc": {n: 0.1 * n for n in range(10)},
        "lr": dict.fromkeys(range(10), 0.1),
        "trainer/global_step": {n: 50.0 * n for n in range(10)},
    }
    server.projects["crashed"] = [Written("c", curves, {"max_steps": 1000})]
    server.states["c"] = "crashed"
    import_runs(WandbReader("me/crashed"), RunStore(tmp_path))
    (run,) = RunStore(tmp_path).read()
    assert run.status is Status.CUT_SHORT and run.loss.steps.tolist() == [50 * n for n in range(10)]


def test_no_such_project_is_told(server):
    with pytest.raises(TrackerError, match=r"no such project.*Fix: check the names"):
        next(WandbReader("me/nowhere").list())
    with pytest.raises(TrackerError, match="ENTITY/PROJECT"):
        WandbReader("a/b/c")


@pytest.mark.parametrize(("variables", "cure"), [({"WANDB_API_KEY": ""}, "wandb login"), ({}, "connection")])
def test_no_account_and_no_network_are_told(tmp_path, variables, cure):
    code = (
        "from lodestar._errors import TrackerError\n"
        "from lodestar.importers.readers.wandb import WandbReader\n"
        "try:\n    print(len([*WandbReader('me/x', timeout=3).list()]))\n"
        "except TrackerError as error:\n    print(error)\n"
    )
    given = {**os.environ, "WANDB_BASE_URL": "http://127.0.0.1:9", "HOME": str(tmp_path), "NETRC": str(tmp_path / "n")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**given, **variables}, capture_output=True, text=True, timeout=600
    )
    assert cure in done.stdout, done.stdout + done.stderr


def test_nested_and_odd_values(tmp_path):
    rows = {
        0: {"loss": 1.0, "eval": {"acc": 0.5, "by": {"class": 2}}, "note": "text", "flag": True},
        3: {"loss": math.nan},
        4: {"loss": -math.inf},
    }
    config = {"lr": 0.1, "optimizer": {"name": "adam", "betas": [0.9, 0.99]}}
    wandb_places.offline(tmp_path, [Written("odd", {}, config)], rows=rows)  # pyright: ignore[reportArgumentType]
    tracker = WandbOfflineReader(tmp_path)
    (run,) = tracker.list()
    assert set(run.quantities) == {"loss", "eval.acc", "eval.by.class"}
    assert run.config == {"lr": 0.1, "optimizer.name": "adam", "optimizer.betas": "[0.9, 0.99]"}
    assert (run.name, run.group, run.state) == ("odd", "digits", "finished")
    found = tracker.fetch(run, run.quantities)
    np.testing.assert_array_equal(found["loss"].values, [1.0, math.nan, -math.inf])
    assert found["loss"].steps.tolist() == [0, 3, 4] and found["eval.by.class"].values.tolist() == [2]


def test_a_killed_run_keeps_what_it_logged(tmp_path):
    code = (
        "import wandb, time\n"
        f"run = wandb.init(mode='offline', dir={str(tmp_path)!r}, project='p', name='killed')\n"
        "for step in range(2000):\n    run.log({'loss': 1 / (step + 1), 'text': 'x' * 100})\n"
        "print('logged', flush=True)\ntime.sleep(3600)\n"
    )
    job = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert job.stdout is not None
    while "logged" not in job.stdout.readline():
        assert job.poll() is None
    limit = time.monotonic() + 300  # the client's other process writes when it comes to it
    while ((seen := _logged(tmp_path)) is None or len(seen[1].steps) <= 100) and time.monotonic() < limit:
        time.sleep(0.2)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    job.stdout.close()
    run, found = _logged(tmp_path) or pytest.fail("nothing was logged")
    assert run.state == "running" and 100 < len(found.steps) <= 2000
    np.testing.assert_allclose(found.values, 1 / (found.steps + 1))


def _logged(folder):
    """The run of a folder and its loss, as far as they are written."""
    with contextlib.suppress(TrackerError):  # nothing yet
        tracker = WandbOfflineReader(folder)
        for run in tracker.list():
            if "loss" in run.quantities:
                return run, tracker.fetch(run, ["loss"])["loss"]
    return None


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    """One run over several blocks of 32 KiB."""
    folder = tmp_path_factory.mktemp("long")
    wandb_places.offline(folder, [Written("long", {"loss": {step: 0.5 * step for step in range(400)}})])
    return next(folder.rglob("*.wandb"))


def test_a_file_cut_anywhere_gives_what_came_before(long_file, tmp_path):
    data = long_file.read_bytes()
    assert len(data) > 3 * 32768
    path = tmp_path / "run-cut.wandb"
    for keep in (32768 - 3, 32768, 32768 + 5, 50_000, 70_001):
        path.write_bytes(data[:keep])
        tracker = WandbOfflineReader(tmp_path)
        (run,) = tracker.list()
        found = tracker.fetch(run, ["loss"])["loss"]
        assert found.steps.tolist() == list(range(len(found.steps))) and 0 < len(found.steps) < 400


@pytest.mark.parametrize("byte", range(40_000, 40_400, 8))  # values, checksums, lengths and kinds of parts
def test_a_damaged_byte_costs_one_record_and_is_told(long_file, tmp_path, byte):
    data = bytearray(long_file.read_bytes())
    data[byte] ^= 0xFF
    (tmp_path / "run-bad.wandb").write_bytes(data)
    tracker = WandbOfflineReader(tmp_path)
    (run,) = tracker.list()
    found = tracker.fetch(run, ["loss"])["loss"]
    assert 399 <= len(found.steps) <= 400 and run.state == "finished"
    np.testing.assert_allclose(found.values, 0.5 * found.steps)
    (note,) = found.notes
    assert "damaged record near byte" in note


def test_a_byte_damaged_in_the_last_record_is_a_half_record(long_file, tmp_path):
    data = bytearray(long_file.read_bytes())
    data[-1] ^= 0xFF
    (tmp_path / "run-bad.wandb").write_bytes(data)
    tracker = WandbOfflineReader(tmp_path)
    (run,) = tracker.list()
    found = tracker.fetch(run, ["loss"])["loss"]
    assert len(found.steps) == 400 and "half a record" in found.notes[0]


def test_what_is_no_run_file_is_left_out_with_a_reason(tmp_path):
    (tmp_path / "run-x.wandb").write_bytes(b"something else")
    (tmp_path / "run-y.wandb").write_bytes(b"")
    troubles = [run.trouble for run in WandbOfflineReader(tmp_path).list()]
    assert "not a W&B run file" in troubles[0] and "empty" in troubles[1]


def test_a_folder_is_read_offline_and_a_name_online(tmp_path, server):
    (tmp_path / "run-x.wandb").write_bytes(b"")
    assert isinstance(open_reader("wandb", str(tmp_path)), WandbOfflineReader)
    assert isinstance(open_reader("wandb", "me/many"), WandbReader)
