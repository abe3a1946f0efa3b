"""`lodestar explain`: a table for people, JSON for machines, a figure on request."""

import json

import pytest
from tests.scheduler.live import train
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster


@pytest.fixture
def explain(tmp_path, monkeypatch):
    """Explain something in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "220")
    return lambda *words: CliRunner().invoke(app, ["explain", *words])


@pytest.fixture
def job(tmp_path):
    """A finished job that wrote run.jsonl."""
    forecaster = random_forecaster(seed=5, points=40)
    one = Scheduler(forecaster, 400, log=tmp_path / "run.jsonl", tolerance=20.0, hysteresis=None)
    one.observe(401, loss=1.0)
    train(one, 1, 400)
    return one


def test_every_decision_is_a_row_with_its_sentence(job, explain):
    result = explain("run.jsonl")
    assert result.exit_code == 0
    assert "20 decisions over 400 steps" in result.stdout
    for decision in job.decisions:
        assert str(decision.outcome) in result.stdout
    assert "extend(total_steps)" in result.stderr


def test_json_is_pure(job, explain):
    data = json.loads(explain("run.jsonl", "--json").stdout)
    assert data["job"]["total_steps"] == 400
    assert data["decisions"] == [json.loads(json.dumps(decision.to_dict())) for decision in job.decisions]


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_figure_is_drawn(job, explain, tmp_path, name, start):
    assert explain("run.jsonl", "-o", name).exit_code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_log_cut_short_by_a_kill_is_explained_all_the_same(job, explain, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    result = explain("run.jsonl")
    assert result.exit_code == 0
    assert "19 decisions" in result.stdout
    assert "1 lines of run.jsonl could not be read" in result.stderr


def test_what_is_not_a_log_is_one_sentence(explain, tmp_path):
    (tmp_path / "x.jsonl").write_text("hello\n")
    result = explain("x.jsonl")
    assert result.exit_code == 1
    assert "is not a Lodestar log" in result.stderr
    assert "Traceback" not in result.output


def test_a_figure_of_another_kind_is_refused(job, explain):
    result = explain("run.jsonl", "-o", "a.docx")
    assert result.exit_code == 2
    assert ".png or .svg" in result.stderr
