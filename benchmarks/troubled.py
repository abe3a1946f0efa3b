"""What a job loses beside a dead tracker, a full disk and a removed log folder: less than a second.

Comes in: how many jobs. Goes out: seconds. The job of `tests/adapters/troubled_job.py`, 200 updates of 0.02 s in a
process of its own, with and without the trouble by turns: an MLflow server that takes connections and never answers,
the log's folder removed half way, no byte free on the job's disk in the third quarter (a disk of its own in memory for
root, else a limit on the length of files). What counts is the job from its first line to its last, the writer's end
included.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TOP = Path(__file__).parents[1]
BAR_SECONDS = 1.0
PAUSE = 0.02


def _job(folder: Path, *words: str) -> float:
    command = [sys.executable, "-m", "tests.adapters.troubled_job", str(folder), str(PAUSE), *words]
    path = os.pathsep.join(filter(None, [str(TOP), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=TOP)
    return float(json.loads(done.stdout)["seconds"])


def run(times: int = 3) -> dict[str, float | bool]:
    """Measure `times` jobs of each kind, by turns."""
    sys.path.insert(0, str(TOP))
    from tests.full_disk import small_disk

    calm, troubled, real = [], [], False
    with tempfile.TemporaryDirectory() as top:
        for number in range(times):
            calm.append(_job(Path(top) / f"calm-{number}", "calm"))
            with small_disk(Path(top) / f"troubled-{number}") as real:
                troubled.append(_job(Path(top) / f"troubled-{number}"))
    lost = np.array(troubled) - np.array(calm)
    return {
        "calm_seconds": float(np.median(calm)),
        "lost_seconds": float(np.median(lost)),
        "lost_seconds_at_most": float(lost.max()),
        "jobs": times,
        "disk_really_full": real,
        "bar_seconds": BAR_SECONDS,
    }
