"""`lodestar report`: one page from stores, a forecaster and logs; errors that say the cure."""

import json
from pathlib import Path

import pytest
from tests.curves import toy_run, toy_runs
from tests.scheduler.live import train
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import RunStore
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def report(tmp_path, monkeypatch):
    """Report in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "220")
    RunStore("runs").add_many([*toy_runs(seeds=1), toy_run(EVIL)])
    return lambda *words: CliRunner().invoke(app, ["report", *words])


def test_a_page_is_written_and_its_path_is_told(report, tmp_path):
    result = report("runs")
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "report.html") in result.stdout
    text = (tmp_path / "report.html").read_text("utf-8")
    assert EVIL not in text
    assert "cosine-0.003-0" in text


def test_everything_at_once(report, tmp_path):
    forecaster = random_forecaster(seed=5, points=40)
    forecaster.save(tmp_path / "m.lodestar")
    for seed in (0, 1):
        train(Scheduler(forecaster, 600, log=tmp_path / "logs" / f"job-{seed}.jsonl", seed=seed), 1, 600)
    result = report("runs", "--model", "m.lodestar", "--log", "logs", "-o", "out/page.html", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["runs"] == 9
    assert data["bytes"] == (tmp_path / "out" / "page.html").stat().st_size
    assert {"Steered runs", "Forecaster"} <= set(data["sections"])


def test_several_stores_are_read_as_one(report):
    RunStore("more").add_many([toy_run("new"), toy_run(EVIL, "step")])
    result = report("runs", "more", "--json")
    assert json.loads(result.stdout)["runs"] == 11
    assert f"more: {EVIL}".replace("<", "\\u003c").replace(">", "\\u003e") in Path("report.html").read_text("utf-8")


def test_a_title_of_ones_own(report):
    assert json.loads(report("runs", "--title", "Mine", "--json").stdout)["title"] == "Mine"


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("nowhere",), "nowhere"),
        (("empty",), "holds no runs. Fix"),
        (("runs", "--log", "no.jsonl"), "cannot be read"),
        (("runs", "--log", "note.jsonl"), "is not a Lodestar log. Fix"),
        (("runs", "--model", "no.lodestar"), "no.lodestar"),
    ],
)
def test_bad_input_is_one_sentence(report, tmp_path, words, cure):
    RunStore.create("empty")
    (tmp_path / "note.jsonl").write_text("{}\n")
    result = report(*words)
    assert result.exit_code == 1
    assert cure in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "report.html").exists()


def test_a_folder_with_a_bad_log_is_reported_without_it(report, tmp_path):
    train(Scheduler(random_forecaster(seed=5, points=40), 600, log=tmp_path / "logs" / "job.jsonl"), 1, 600)
    (tmp_path / "logs" / "note.jsonl").write_text("{}\n")
    result = report("runs", "--log", "logs")
    assert result.exit_code == 0 and (tmp_path / "report.html").exists()
    assert "left out: logs/note.jsonl is not a Lodestar log" in result.stderr


def test_a_folder_as_page_is_refused(report, tmp_path):
    (tmp_path / "pages").mkdir()
    result = report("runs", "-o", "pages")
    assert result.exit_code == 2
    assert "must be a file" in result.stderr


def test_what_does_not_fit_is_warned_of(report, tmp_path):
    forecaster = random_forecaster(seed=5, points=40)
    train(Scheduler(forecaster, 700, log=tmp_path / "job.jsonl"), 1, 700)
    result = report("runs", "--log", "job.jsonl")
    assert result.exit_code == 0
    assert "a job of 700 steps" in result.stderr
