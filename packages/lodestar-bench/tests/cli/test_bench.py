"""`lodestar bench`: lists, errors with a cure, a table killed and resumed through the real command, its report."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import RunStore

SIZE = ("--task", "digits-mlp", "--scale", "smoke", "--methods", "constant,cosine", "--tune", "2x2", "--seeds", "4")
HOME = "digits-mlp-smoke"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *words: CliRunner().invoke(app, ["bench", *words])


def said(result) -> str:
    return " ".join((result.stdout + result.stderr).split())


def test_tasks_are_listed(run):
    result = run("tasks")
    assert result.exit_code == 0, result.output
    assert "digits-mlp" in result.stdout
    assert "11.2 M" in result.stdout  # the weights of ResNet-18 at paper scale


def test_methods_are_listed_with_their_budget(run):
    found = json.loads(run("methods", "--json").stdout)
    budgets = {row["name"]: row["budget"] for row in found}
    assert budgets["cosine"] == "25 runs to tune"
    assert budgets["rl-xu"] == "25 runs to train"
    assert budgets["lodestar"] == "fits 100 runs"


def test_a_dry_run_counts_and_runs_nothing(run, tmp_path):
    result = run("table1", *SIZE, "--out", "b", "--dry-run")
    assert "16 runs and 0 learnings to make" in said(result)
    assert not (tmp_path / "b" / HOME / "runs").exists()


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (["--task", "nope"], "The tasks are: ", 1),
        (["--task", "digits-mlp", "--methods", "cosin"], "did you mean 'cosine'", 1),
        (["--task", "digits-mlp", "--methods", "gone.py:Mine"], "there is no file", 1),
        (["--task", "digits-mlp", "--scale", "huge"], "scale must be one of paper, laptop, cpu, smoke", 2),
        (["--task", "digits-mlp", "--tune", "5"], "takes VALUESxSEEDS such as 5x5", 2),
        (["--task", "digits-mlp", "--sweep", "grid"], "must be shapes or sobol", 2),
    ],
)
def test_errors_say_the_cure(run, words, sentence, code):
    result = run("table1", *words, "--out", "b")
    assert result.exit_code == code
    assert sentence in said(result)


def test_a_report_of_nothing_says_where_to_look(run):
    result = run("report", "nowhere")
    assert result.exit_code == 1
    assert "Fix: name the folder given as --out" in said(result)


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "lodestar.cli", "bench", "table1", *SIZE, "--out", "b", "--jobs", "1"]
    with (folder / "output.txt").open("a") as output:
        return subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, text=True, start_new_session=True)


def stored(folder: Path) -> set[str]:
    store = RunStore(folder / "b" / HOME / "runs")
    return {summary.name for summary in store.list()} if store.exists() else set()


def test_a_killed_table_goes_on_where_it_was(run, tmp_path):
    """Killed hard after some runs; the same command makes the rest, and none of the first again."""
    process = start(tmp_path)
    limit = time.monotonic() + 600
    while len(stored(tmp_path)) < 3 and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)
    process.kill()  # on a slow machine it may be through already: then there is nothing left to make
    process.wait()
    segments = {path.name for path in (tmp_path / "b" / HOME / "runs").glob("runs-*")}
    before = stored(tmp_path)
    assert 3 <= len(before) <= 16, (tmp_path / "output.txt").read_text()

    process = start(tmp_path)
    assert process.wait(timeout=600) == 0, (tmp_path / "output.txt").read_text()
    after = {path.name for path in (tmp_path / "b" / HOME / "runs").glob("runs-*")}
    assert len(stored(tmp_path)) == 16
    assert len(after) == len(segments) + 16 - len(before)  # a file for each run: none was made twice

    result = run("report", "b", "-o", "results", "--json")
    assert result.exit_code == 0, result.output
    [found] = json.loads(result.stdout)
    assert found["complete"]
    assert [row["finals"]["count"] for row in found["rows"]] == [4, 4]
    text = (tmp_path / "results" / HOME / "README.md").read_text()
    assert "16 runs" in text and "bench table1 --task digits-mlp" in text
    assert (tmp_path / "results" / HOME / "distribution.png").stat().st_size > 1000

    result = run("table1", *SIZE, "--published", "results", "--out", "c", "--dry-run")
    assert "0 runs and 0 learnings to make" in said(result)
    result = run("table1", *SIZE, "--published", "b", "--out", "d", "--dry-run")
    assert result.exit_code == 1 and "no published results of digits-mlp-smoke in b" in said(result)
