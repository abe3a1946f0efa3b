"""Other processes: a kill at any moment leaves a whole store, and several writers (and a merger) get along."""

import random
import signal
import subprocess
import sys
import time

import numpy as np

from lodestar.runs import Run, RunStore

WRITER = """
import itertools, sys
import numpy as np
from lodestar.runs import Direction, Run, RunStore, Series

def run(name, value, points=400):
    curve = Series(np.arange(points), np.full(points, float(value)))
    return Run(name, curve, curve, curve, Direction.MAX, metric_name=str(value))

path, me, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = RunStore(path)
for number in range(count):
    value = number + 1
    store.add(run(f"{me}-{number}", value))
    store.add_many([run(f"shared-{i}", value) for i in range(3)])
    if number % 7 == 6:
        store.compact()
    print(number, flush=True)
"""


def start(path, me: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), me, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def assert_whole(run: Run) -> None:
    value = float(run.metric_name)
    for curve in (run.loss, run.metric, run.lr):
        assert len(curve) == 400
        assert np.all(curve.values == value)


def test_a_kill_at_any_moment_leaves_every_acknowledged_run_whole(tmp_path):
    moments = random.Random(0)
    promised: set[str] = set()
    store = RunStore(tmp_path / "s")
    found: set[str] = set()
    for attempt in range(8):
        writer = start(tmp_path / "s", f"w{attempt}", 10_000)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.25))
        writer.send_signal(signal.SIGKILL)
        printed = [first, *writer.stdout.read().splitlines()]
        writer.wait()
        writer.stdout.close()
        promised |= {f"w{attempt}-{int(line)}" for line in printed if line.strip().isdigit()}
        store = RunStore.open(tmp_path / "s")
        found = {run.name for run in store.iter() if assert_whole(run) is None}
        assert found == {summary.name for summary in store.list()}
        assert promised <= found
    assert store.damage() == ()
    store.compact()
    assert {run.name for run in store.iter()} == found


def test_several_writers_and_a_reader_at_once(tmp_path):
    writers = [start(tmp_path / "s", me, 20) for me in ("a", "b", "c")]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        store = RunStore(tmp_path / "s")
        if store.exists():
            names = [run.name for run in store.iter() if assert_whole(run) is None]
            assert len(names) == len(set(names)) >= seen
            seen = len(names)
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    names = {summary.name for summary in RunStore.open(tmp_path / "s").list()}
    assert names == {f"{me}-{i}" for me in "abc" for i in range(20)} | {f"shared-{i}" for i in range(3)}
    assert all(run.metric_name == "20" for run in RunStore(tmp_path / "s").read(["shared-0"]))
