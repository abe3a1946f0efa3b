"""The sweep's kill test: the real command is killed (kill -9) at random moments, again and again, and loses nothing.

Comes in: how many kills. Goes out: counts. After each kill the store must open and every run in it be whole; a trial
that was in the store must never be made again; at the end, after one call that may finish, every trial is there once.
Each trial leaves a line in a file when it starts and when it ends, so that what was made is known from outside.
"""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lodestar.runs import Run, RunStore

JOB = """
import os, time
from pathlib import Path

def train(*, schedule, seed, total_steps, report):
    log = Path(os.environ["KILLS_LOG"])
    with log.open("a") as file:
        file.write(f"start {seed}\\n")
    for step in range(1, total_steps + 1):
        time.sleep(0.1 / total_steps)
        report(step, loss=1 / step, metric=float(seed))
    with log.open("a") as file:
        file.write(f"end {seed}\\n")
"""
STEPS = 20


def run(kills: int = 20, trials_a_kill: int = 12, seed: int = 0) -> dict[str, Any]:
    """Kill the sweep `kills` times, then let it finish, and check."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "job.py").write_text(JOB)
        trials = kills * trials_a_kill
        found: dict[str, Any] = {"kills": 0, "trials": trials, "kept_after_each_kill": []}
        while found["kills"] < kills:
            before, lines = _seeds(folder), _lines(folder)
            process = _start(folder, trials)
            if _kill_later(process, folder, moments):
                found["kills"] += 1
            found["kept_after_each_kill"].append(_checked(folder, before, lines))
        before, lines = _seeds(folder), _lines(folder)
        assert _start(folder, trials).wait() == 0
        _checked(folder, before, lines)
        starts = collections.Counter(line for line in (folder / "made.log").read_text().split("\n") if line)
        found["in_the_store"] = len(_seeds(folder))
        found["started_more_than_once"] = sum(starts[f"start {n}"] > 1 for n in range(trials))
        assert found["in_the_store"] == trials, "trials are missing"
    return found


def _start(folder: Path, trials: int) -> subprocess.Popen[bytes]:
    words = ["sweep", "job.py:train", "--runs", str(trials), "--steps", str(STEPS), "--out", "runs", "--jobs", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "lodestar.cli", *words],
        cwd=folder,
        env={**os.environ, "KILLS_LOG": str(folder / "made.log")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kill_later(process: subprocess.Popen[bytes], folder: Path, moments: random.Random) -> bool:
    """Kill at a random moment: now and then while the sweep starts, else after some trials. False if it had ended."""
    wanted = _lines(folder) + moments.choice([0, 1, *range(2, 20)])
    while process.poll() is None and _lines(folder) < wanted:
        time.sleep(0.005)
    time.sleep(moments.uniform(0.0, 0.2))
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def _lines(folder: Path) -> int:
    log = folder / "made.log"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _seeds(folder: Path) -> list[int | None]:
    """Which trials are in the store; each has a seed of its own."""
    store = RunStore(folder / "runs")
    return [row.facts.seed for row in store.list()] if store.exists() else []


def _checked(folder: Path, before: list[int | None], lines: int) -> int:
    """The store opens, nothing that was there is gone or was made again, every run is whole."""
    seeds = _seeds(folder)
    assert set(before) <= set(seeds), "a stored run is gone"
    assert len(set(seeds)) == len(seeds), "a trial is stored twice"
    made = (folder / "made.log").read_text().splitlines()[lines:] if lines else []
    assert not {f"start {seed}" for seed in before} & set(made), "a stored trial was made again"
    if seeds:
        store = RunStore(folder / "runs")
        assert store.damage() == ()
        for found in store.iter():
            _check_whole(found)
    return len(seeds)


def _check_whole(run: Run) -> None:
    assert len(run.loss) == STEPS and run.status == "finished", f"{run.name} is not whole"
    assert run.final_metric == run.facts.seed


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
