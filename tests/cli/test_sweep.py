"""`lodestar sweep`: what people see, exit codes, Ctrl-C, and the same command again."""

import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.fitting.dataset import prepare
from lodestar.runs import RunStore

JOB = """
import time
from pathlib import Path

def train(*, schedule, seed, report, total_steps=20):
    if seed == 3:
        raise RuntimeError("seed three is broken")
    for step in range(1, total_steps + 1):
        report(step, loss=1 / step, metric=seed)

def held(*, schedule, seed, report, total_steps=20):
    while seed and not Path("go").exists():
        time.sleep(0.02)
    train(schedule=schedule, seed=0, report=report, total_steps=total_steps)

def mixed(*, schedule, seed, report, total_steps=40):
    for step in range(1, total_steps + 1):
        if seed == 1 and step > 2:
            report(step, loss=float("nan"))
        elif seed == 2 and step > 3:
            return
        else:
            report(step, loss=1 / step + seed / 100, metric=step if step > 3 else None)

def one_hangs(*, schedule, seed, report, total_steps=20):
    while seed == 1 and not Path("go").exists():
        time.sleep(0.02)
    train(schedule=schedule, seed=0, report=report, total_steps=total_steps)

def slow(*, schedule, seed, report, total_steps=20):
    for step in range(1, total_steps + 1):
        time.sleep(0.02)
        report(step, loss=1 / step, metric=seed)
"""


@pytest.fixture
def lodestar(tmp_path, monkeypatch):
    """Run a command in a folder that holds sweep_cli_job.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "sweep_cli_job.py").write_text(JOB)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_a_sweep_tells_the_best_the_failures_and_the_next_step(lodestar):
    words = ("sweep", "sweep_cli_job.py:train", "--runs", 5, "--steps", 20, "--out", "runs", "--metric", "accuracy")
    result = lodestar(*words)
    assert result.exit_code == 1
    assert "5 trials in" in result.stdout and "4 finished" in result.stdout and "1 failed" in result.stdout
    assert "seed three is broken" in result.stdout
    assert "Failed: sobol0-0003: it raised RuntimeError" in result.stderr
    assert "Best accuracy: 4 (sobol0-0004)" in result.stdout
    assert "Next: lodestar doctor runs" in result.stdout
    assert len(RunStore("runs")) == 4
    again = lodestar(*words)
    assert again.exit_code == 1
    assert "Going on: 5 of 5 trials ended before, 0 to go." in again.stderr
    assert "1 failed in an earlier call. Next: --retry-failed" in again.stdout


def test_doctor_lets_a_fit_go_ahead_after_a_sweep_with_diverged_and_short_trials(lodestar):
    result = lodestar("sweep", "sweep_cli_job:mixed", "--runs", 8, "--out", "runs", "--jobs", 1)
    assert result.exit_code == 0 and "6 finished, 1 diverged, 1 cut short" in result.stdout
    told = lodestar("doctor", "runs", "--json")
    assert told.exit_code == 0, told.stdout
    assert json.loads(told.stdout)["usable"] == 6
    assert len(prepare(RunStore("runs").read()).excluded) == 2


def test_a_trial_past_its_time_fails_as_such_and_can_be_tried_again(lodestar, tmp_path):
    words = ("sweep", "sweep_cli_job:one_hangs", "--runs", 3, "--out", "runs", "--jobs", 1, "--json")
    result = lodestar(*words, "--trial-timeout", "1.5s")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["finished"] == 2 and [f["kind"] for f in told["failed"]] == ["timed out"]
    assert "--trial-timeout" in told["failed"][0]["reason"]
    journal = next(tmp_path.glob("runs.trials/sweep-*.jsonl")).read_text().splitlines()
    assert [line["kind"] for line in map(json.loads, journal[1:]) if line["ended"] == "failed"] == ["timed out"]
    assert json.loads(lodestar(*words, "--trial-timeout", "2h").stdout)["failed_before"] == 1
    (tmp_path / "go").touch()
    again = json.loads(lodestar(*words, "--trial-timeout", "1h30m", "--retry-failed").stdout)
    assert (again["before"], again["finished"], again["failed"]) == (2, 1, [])


def test_a_module_in_the_current_folder_the_functions_own_length_and_json(lodestar):
    result = lodestar("sweep", "sweep_cli_job:slow", "--runs", 2, "--out", "runs", "--json", "--space", "paper")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["finished"] == 2 and told["failed"] == [] and told["store"] == "runs"
    assert {row.total_steps for row in RunStore("runs").list()} == {20}


def test_a_dry_run_shows_the_schedules_and_makes_nothing(lodestar, tmp_path):
    result = lodestar("sweep", "sweep_cli_job:train", "--steps", 100, "--space", "paper", "--dry-run")
    assert result.exit_code == 0
    assert "100 trials" in result.stdout and "cosine-0.0001-seed0" in result.stdout and "█" in result.stdout
    told = json.loads(lodestar("sweep", "x:y", "--steps", 9, "--runs", 3, "--dry-run", "--json").stdout)
    assert [trial["name"] for trial in told["trials"]] == ["sobol0-0000", "sobol0-0001", "sobol0-0002"]
    assert not (tmp_path / "runs").exists()


def test_a_command_and_a_space_of_ones_own(lodestar, tmp_path):
    (tmp_path / "space.toml").write_text('[[trial]]\nname = "a"\nshape = "cosine"\npeak = 0.1\n')
    line = 'echo \'{"step": 7, "loss": 0.5}\' >> {report}'
    result = lodestar("sweep", "--command", line, "--space", "space.toml", "--steps", 7, "--out", "runs")
    assert result.exit_code == 0, result.output
    assert RunStore("runs").read()[0].name == "a"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("sweep", "sweep_cli_job:tarin", "--steps", 5, "--runs", 1, "--out", "r"), "has no 'tarin'"),
        (("sweep", "no_such_module:train", "--steps", 5, "--out", "r"), "no module 'no_such_module'"),
        (("sweep", "--out", "r"), "a function or a command, one of them"),
        (("sweep", "--command", "true", "--out", "r"), "Fix: --steps N"),
        (("sweep", "a:b", "--steps", 5, "--out", "r", "--on", "moon"), "no executor 'moon'"),
        (("sweep", "a:b", "--steps", 5, "--out", "r", "--space", "none.csv"), "there is no file none.csv"),
        (("sweep", "a:b", "--steps", 5, "--out", "r", "--gpus", 1), "--gpus is for --on ray"),
    ],
)
def test_errors_are_one_sentence(lodestar, words, told):
    result = lodestar(*words)
    assert result.exit_code == 1
    assert told in result.stderr and result.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    "words",
    [("--direction", "up"), ("--runs", 0), ("--peak", 2, 1), ("--log-to", "nowhere:x"), ("--trial-timeout", "soon")],
)
def test_wrong_usage_is_exit_code_two(lodestar, words):
    assert lodestar("sweep", "a:b", "--steps", 5, "--out", "r", *words).exit_code == 2


def test_without_a_store_to_write_to_the_option_is_named(lodestar):
    result = lodestar("sweep", "a:b", "--steps", 5)
    assert result.exit_code == 2 and "--out" in result.stderr


def test_ctrl_c_stops_and_the_same_command_goes_on(lodestar, tmp_path):
    words = ("sweep", "sweep_cli_job:held", "--runs", "8", "--out", "runs", "--jobs", "1")
    process = subprocess.Popen(
        [sys.executable, "-m", "lodestar.cli", *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    while not list(tmp_path.glob("runs/runs-*")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130
    assert "Stopped. The same command goes on from here." in told and "Traceback" not in told
    assert len(RunStore("runs")) == 1  # the others wait
    (tmp_path / "go").touch()
    result = lodestar(*words)
    assert result.exit_code == 0
    assert "Going on: 1 of 8" in result.stderr
    assert len(RunStore("runs")) == 8


def test_runs_are_logged_to_a_tracker_too(lodestar, tmp_path):
    pytest.importorskip("tensorboard")
    result = lodestar("sweep", "sweep_cli_job:slow", "--runs", 1, "--out", "runs", "--log-to", "tensorboard:events")
    assert result.exit_code == 0, result.output
    assert list((tmp_path / "events").rglob("*tfevents*"))


SIZED = """
def train(*, schedule, seed, report, size, total_steps=20):
    for step in range(1, total_steps + 1):
        report(step, loss=1 / step, metric=size)
"""


def test_a_sweep_over_sizes_and_its_listing(lodestar, tmp_path):
    (tmp_path / "sized_cli_job.py").write_text(SIZED)
    words = ("sweep", "sized_cli_job:train", "--sizes", "16,8,4", "--runs", "6")
    shown = lodestar(*words, "--dry-run").stdout
    assert "size" in shown and shown.count("-size16") == 2
    result = lodestar(*words, "--out", "runs", "--jobs", "1")
    assert result.exit_code == 0 and "6 finished" in result.stdout
    listing = lodestar("runs", "runs").stdout
    assert "width" in listing and listing.count("-size4") == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--sizes", "16,0"), "sizes must be numbers above 0"),
        (("--sizes", "16,16"), "16 twice"),
        (("--sizes", "16,8,4", "--runs", "2"), "at least one for each of the 3"),
        (("--batches", "x"), "batches must be whole numbers"),
        (("--lengths", "10,20", "--steps", "5"), "say the same"),
    ],
)
def test_wrong_sizes_are_wrong_usage(lodestar, words, told):
    result = lodestar("sweep", "sweep_cli_job:train", "--out", "runs", *words)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.replace("│", " ").split())
