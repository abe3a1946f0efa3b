"""`lodestar tune`: what people see, kill -9 and the same command again."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.cli._sweep_table import SweepTable
from lodestar.cli.tune import round_line, round_table
from lodestar.runs import RunStore
from lodestar.schedules import Schedule
from lodestar.tuning import Prospect, Round

JOB = """
import time
from pathlib import Path

def train(*, schedule, seed, report, total_steps=20):
    while seed and not Path("go").exists():
        time.sleep(0.02)
    for step in range(1, total_steps + 1):
        report(step, loss=1 / step, metric=step * schedule(1))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tuned_job.py").write_text(JOB)
    return tmp_path


def test_killed_at_any_moment_the_same_command_goes_on(folder):
    words = ["tune", "tuned_job.py:train", "--out", "runs", "--budget", "2", "--jobs", "1", "--json"]
    paths = os.pathsep.join(filter(None, [*sys.path, str(folder)]))
    process = subprocess.Popen([sys.executable, "-m", "lodestar", *words], env=os.environ | {"PYTHONPATH": paths})
    limit = time.monotonic() + 120
    while not (RunStore("runs").exists() and len(RunStore("runs").list()) == 1) and time.monotonic() < limit:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [row.name for row in RunStore.open("runs").list()] == ["tune0-0000"]  # the second waits for its sign
    (folder / "go").touch()
    done = CliRunner().invoke(app, words)
    found = json.loads(done.stdout)
    assert done.exit_code == 0 and found["runs"] == 2 and found["spent"] == 2.0
    assert found["plan"] is None and "at least 4 usable runs, got 2" in found["note"]
    assert found["schedule_file"] == "runs.plan.json" and "peak" in found["schedule"]
    assert len(Schedule.from_json("runs.plan.json")) == 20  # that of the best trial


def test_the_line_says_spent_best_forecast_and_expected_gain():
    prospect = Prospect((), 0.0123, 0.9, 0.88, 0.92, True, 7)
    assert round_line(Round(20, 6.5, 9, ("tune0-0003", 0.871), prospect)) == (
        "6.5 of 20 runs spent on 9 trials, best 0.871, best schedule's forecast 0.9 (0.88 to 0.92), expected gain of "
        "the next run 0.012"
    )


def test_a_budget_below_one_and_a_missing_store_are_usage_errors(folder):
    assert CliRunner().invoke(app, ["tune", "tuned_job.py:train", "--out", "runs", "--budget", "0"]).exit_code == 2
    done = CliRunner().invoke(app, ["tune", "tuned_job.py:train"])
    assert done.exit_code == 2 and "name the store to write to" in done.output


def test_on_a_terminal_the_same_stands_in_a_table_above_the_trials():
    prospect = Prospect((), 0.0123, 0.9, 0.88, 0.92, True, 7)
    screen, table = Console(width=120, force_terminal=True), SweepTable(quiet=False)
    table.head(round_table(Round(20, 6.5, 9, ("tune0-0003", 0.871), prospect)), "")
    with screen.capture() as shown:
        screen.print(table._draw())
    for words in ("spent", "6.5 of 20 runs", "best so far", "0.871", "0.9 (0.88 to 0.92)", "expected gain", "0.012"):
        assert words in shown.get()


def test_ctrl_c_says_how_to_go_on(folder):
    """The signal arrives while the second trial waits."""
    words = [sys.executable, "-m", "lodestar", "tune", "tuned_job.py:train", "--out", "runs", "--budget", "2"]
    paths = os.pathsep.join(filter(None, [*sys.path, str(folder)]))
    process = subprocess.Popen(
        [*words, "--jobs", "1"], env=os.environ | {"PYTHONPATH": paths}, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 120
    while not (RunStore("runs").exists() and len(RunStore("runs").list()) == 1) and time.monotonic() < limit:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130 and "The same command goes on from here" in said
    assert "0.0 of 2 runs spent on 0 trials" in said and "1.0 of 2 runs spent on 1 trials, best" in said


def test_sizes_that_cannot_be_are_a_usage_error(folder):
    done = CliRunner().invoke(app, ["tune", "tuned_job.py:train", "--out", "runs", "--sizes", "16,0"])
    assert done.exit_code == 2 and "sizes must be numbers above 0" in done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--size", "256"], "must be at least two, got none"),
        (["--sizes", "16,32", "--size", "0"], "size must be a number above 0, got 0"),
        (["--sizes", "16,32", "--size", "32"], "size=32 is one of the sizes that are run"),
        (["--sizes", "16,32", "--size", "9999"], "312 times beyond the sizes that are run"),
    ],
)
def test_a_job_that_cannot_be_is_a_usage_error(folder, options, said):
    done = CliRunner().invoke(app, ["tune", "tuned_job.py:train", "--out", "runs", *options])
    assert done.exit_code == 2 and said in " ".join(done.output.replace("│", " ").split())
