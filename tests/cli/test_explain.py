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
    assert job.summary() in result.stdout
    for decision in job.decisions:
        assert str(decision.outcome) in result.stdout
    assert "extend(total_steps)" in result.stderr


def test_forecasts_that_differ_in_the_fifth_digit_are_told_apart(job, explain, tmp_path):
    path = tmp_path / "run.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "decision":
            line |= {"predicted": 0.88412, "plan_forecast": 0.88409, "forecast": 0.88409, "band": [0.88391, 0.88433]}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = explain("run.jsonl").stdout
    assert "0.88412" in text and "0.88391..0.88433" in text


def test_json_is_pure(job, explain):
    data = json.loads(explain("run.jsonl", "--json").stdout)
    assert data["job"]["total_steps"] == 400
    assert data["decisions"] == [json.loads(json.dumps(decision.to_dict())) for decision in job.decisions]


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_figure_is_drawn(job, explain, tmp_path, name, start):
    assert explain("run.jsonl", "-o", name).exit_code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_figure_that_cannot_be_written_leaves_one_json_document(job, explain):
    result = explain("run.jsonl", "--json", "-o", "nowhere/at/all/a.png")
    assert (result.exit_code, list(json.loads(result.stdout))) == (1, ["error"])


def test_a_log_cut_short_by_a_kill_is_explained_all_the_same(job, explain, tmp_path):
    path = tmp_path / "run.jsonl"
    before_the_end = path.read_bytes().splitlines(keepends=True)[:-1]
    path.write_bytes(b"".join(before_the_end)[:-40])
    result = explain("run.jsonl")
    assert result.exit_code == 0
    assert "19 decisions" in result.stdout
    assert "no last line: under way, killed, or never closed" in result.stdout
    assert "1 line of run.jsonl could not be read" in result.stderr


def test_a_log_that_lost_its_first_line_is_explained_and_said(job, explain, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(path.read_bytes().partition(b"\n")[2])
    result = explain("run.jsonl")
    assert result.exit_code == 0 and "20 decisions\n" in result.stdout
    assert "has lost its first line" in result.stderr


def test_several_jobs_in_a_log_are_shown_one_at_a_time(job, explain, tmp_path):
    train(Scheduler(job.forecaster, 400, log=tmp_path / "run.jsonl", seed=1), 1, 100)
    last = explain("run.jsonl")
    assert "20 decisions over" not in last.stdout and "holds 2 jobs, this is the last" in last.stderr
    first = explain("run.jsonl", "--job", "1")
    assert "20 decisions over 400 steps" in first.stdout and "this is number 1" in first.stderr
    assert explain("run.jsonl", "--job", "3").exit_code == 1


def test_a_metric_that_looks_like_markup_is_shown_as_it_is(job, explain, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(path.read_text().replace('"metric": "accuracy"', '"metric": "[/red]"'))
    assert "[/red]" in explain("run.jsonl").stdout


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
