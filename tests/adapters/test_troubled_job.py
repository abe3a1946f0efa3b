"""A real PyTorch job beside a dead tracker, a full disk and a removed log folder ends as if nothing were.

The disk is really full where a small one may be mounted, which takes root; elsewhere no file may grow.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.adapters.troubled_job import STEPS, train
from tests.full_disk import small_disk

from lodestar.adapters._state_file import read_state
from lodestar.scheduler import read_log

TOP = Path(__file__).parents[2]


def test_a_job_beside_a_dead_tracker_a_full_disk_and_a_removed_log_folder(tmp_path):
    with small_disk(tmp_path / "troubled"):
        compare(tmp_path / "troubled", tmp_path / "calm")


def compare(folder: Path, beside: Path) -> None:
    command = [sys.executable, "-m", "tests.adapters.troubled_job", str(folder), "0"]
    path = os.pathsep.join(filter(None, [str(TOP), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, cwd=TOP)
    assert done.returncode == 0, done.stderr[-3000:]
    troubled, calm = json.loads(done.stdout), train(beside, None, trouble=False)
    assert troubled["rates"] == calm["rates"]
    assert troubled["seconds"] < calm["seconds"] + 60  # a dead server alone used to take four minutes
    for once in ("no longer written to mlflow", "could not be written, training goes on", "was not saved, training"):
        assert done.stderr.count(once) == 1, done.stderr
    assert "Traceback" not in done.stderr
    kept, whole = read_log(folder / "logs/run.jsonl"), read_log(beside / "logs/run.jsonl")
    assert (kept.decisions, kept.skipped, kept.header["total_steps"]) == (whole.decisions, 0, STEPS)
    assert read_state(folder / "state.json")["global_step"] == STEPS
