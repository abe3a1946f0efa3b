"""`lodestar watch --text`, `lodestar watch` as a process, and `lodestar control`."""

import json
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest
from tests.watch.serving import a_job, train
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import Direction, Run, RunStore, Series
from lodestar.scheduler import Outcome
from lodestar.testing import random_forecaster

EVIL = "[red]evil\x1b[31m"


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, list(words))


@pytest.fixture
def job(tmp_path):
    made = a_job(tmp_path, random_forecaster(seed=2, points=100))
    train(made, 1, 21)
    return made


def test_text_shows_every_job_with_its_forecast_and_newest_decision(call, job, tmp_path):
    other = a_job(tmp_path, random_forecaster(seed=2, points=100), "other", run_name=EVIL)
    other.warn("odd", "something is odd")
    train(other, 1, 21)
    result = call("watch", ".", "--text")
    assert result.exit_code == 0, result.output
    assert "20 of 200" in result.stdout
    assert "[red]evil\ufffd[31m" in result.stdout
    assert "warning: something is odd" in result.stdout


def test_a_folder_without_jobs_says_so_and_a_missing_one_is_an_error(call):
    assert "no job has logged" in call("watch", ".", "--text").stdout
    result = call("watch", "nowhere", "--text")
    assert result.exit_code == 1
    assert "there is no log or folder" in result.stderr


def test_jobs_are_listed_best_first(call, tmp_path):
    for seed in range(4):
        train(a_job(tmp_path, random_forecaster(seed=2, points=100), f"run-{seed}", seed=seed), 1, 21 + 20 * seed)
    lines = [
        line for line in call("watch", ".", "--text").stdout.splitlines() if line.startswith("run-") and " of " in line
    ]
    finals = [float(line.split("(")[0].split()[-1]) for line in lines]
    assert len(finals) == 4
    assert finals == sorted(finals, reverse=True)


def test_curves_of_a_log_without_points_come_from_the_store(call, job, tmp_path):
    from lodestar.watch.jobs import Jobs

    (tmp_path / "run.points").unlink()
    steps = [10, 20, 30]
    series = Series(steps, [1.0, 0.9, 0.8])
    run = Run("run", loss=series, metric=series, lr=series, direction=Direction.MAX, total_steps=200, metric_name="a")
    RunStore.create(tmp_path / "runs").add(run)
    (found,) = Jobs([tmp_path / "run.jsonl"]).all()
    assert len(found.curves(None)["loss"][0]) < 3  # as decided
    assert found.curves(RunStore.open(tmp_path / "runs"))["loss"][0].tolist() == steps
    assert call("watch", "run.jsonl", "--runs", "runs", "--text").exit_code == 0


def test_a_command_is_sent_and_the_jobs_answer_shown(call, job):
    def go_on() -> None:
        time.sleep(0.5)
        train(job, 22, 60)

    thread = threading.Thread(target=go_on)
    thread.start()
    result = call("control", "run.jsonl", "scale", "0.5", "--by", "Ada", "--wait", "60")
    thread.join()
    assert result.exit_code == 0, result.output
    assert "multiplied by hand" in result.stdout
    assert any(d.outcome is Outcome.SCALED for d in job.decisions)


def test_a_command_that_waits_says_so_and_a_second_is_refused(call, job):
    result = call("control", "run.jsonl", "pause", "--wait", "0", "--json")
    assert json.loads(result.stdout)["decision"] is None
    result = call("control", "run.jsonl", "stop", "--wait", "0")
    assert result.exit_code == 1
    assert "a command still waits" in result.stderr
    assert "withdrawn: pause" in call("control", "run.jsonl", "withdraw").stdout


def test_a_schedule_from_a_file_is_taken(call, job, tmp_path):
    (tmp_path / "mine.csv").write_text("step,lr\n" + "".join(f"{s},{1e-3 + s * 1e-6}\n" for s in range(1, 1201)))
    result = call("control", "run.jsonl", "take", "mine.csv", "--wait", "0", "--json")
    knots = json.loads(result.stdout)["command"]["value"]
    assert knots[0][0] == 1
    assert knots[-1][0] == 1200
    assert len(knots) <= 501
    train(job, 22, 60)
    assert any(d.outcome is Outcome.TAKEN for d in job.decisions)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("fly",), "ACTION must be one of"),
        (("scale",), "scale takes a factor"),
        (("scale", "much"), "scale takes a factor"),
        (("extend", "1.5"), "extend takes the steps in all"),
        (("pause", "3"), "pause takes no value"),
        (("take", "none.csv"), "cannot be read"),
    ],
)
def test_wrong_words_are_refused(call, job, words, why):
    result = call("control", "run.jsonl", *words)
    assert result.exit_code == 2
    assert why in " ".join(result.stderr.replace("│", " ").split())


def test_the_server_starts_prints_its_address_and_ends_with_a_signal_while_a_page_watches(job, tmp_path):
    words = [sys.executable, "-m", "lodestar", "watch", str(tmp_path), "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address, _, token = server.stdout.readline().strip().partition("#token=")
    assert len(token) >= 32
    assert address.startswith("http://127.0.0.1:")
    try:
        with httpx.stream("GET", f"{address}api/stream", timeout=60) as answer:
            assert next(answer.iter_lines()) == "event: table"
            server.send_signal(signal.SIGTERM)
            _, err = server.communicate(timeout=60)
    finally:
        server.kill()
        server.communicate()
    assert "Traceback" not in err, err


def test_a_port_that_is_taken_is_a_sentence(tmp_path, call, job):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = call("watch", ".", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 1
    assert "cannot listen on" in result.stderr
