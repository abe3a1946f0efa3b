"""A real PyTorch job beside a dead tracker, a full disk and a removed log folder ends as if nothing were."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.adapters.troubled_job import STEPS, train

from lodestar.adapters._state_file import read_state
from lodestar.scheduler import read_log

TOP = Path(__file__).parents[2]


def test_a_job_beside_a_dead_tracker_a_full_disk_and_a_removed_log_folder(tmp_path):
    command = [sys.executable, "-m", "tests.adapters.troubled_job", str(tmp_path / "troubled")]
    path = os.pathsep.join(filter(None, [str(TOP), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, cwd=TOP)
    assert done.returncode == 0, done.stderr[-3000:]
    troubled, calm = json.loads(done.stdout), train(tmp_path / "calm", None, trouble=False)
    assert troubled["rates"] == calm["rates"]
    assert troubled["seconds"] < calm["seconds"] + 60  # a dead server alone used to take four minutes
    for once in ("no longer written to mlflow", "could not be written, training goes on", "was not saved, training"):
        assert done.stderr.count(once) == 1, done.stderr
    assert "Traceback" not in done.stderr
    kept, whole = read_log(tmp_path / "troubled/logs/run.jsonl"), read_log(tmp_path / "calm/logs/run.jsonl")
    assert (kept.decisions, kept.skipped, kept.header["total_steps"]) == (whole.decisions, 0, STEPS)
    assert read_state(tmp_path / "troubled/state.json")["global_step"] == STEPS
