"""`lodestar evaluate`: the table, the page, pure JSON, filters, and errors with a cure."""

import json

import pytest
from tests.curves import diverged_run, toy_runs
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import RunStore
from lodestar.testing import random_forecaster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store of 17 runs and a forecaster."""
    path = tmp_path_factory.mktemp("evaluate")
    RunStore(path / "runs").add_many([*toy_runs(), diverged_run()])
    random_forecaster(seed=1, points=60).save(path / "f.lodestar")
    return path


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *words: CliRunner().invoke(app, ["evaluate", *words])


def test_the_table_has_ours_and_the_simple_ones(run):
    result = run("f.lodestar", "runs", "--seed", "1", "--against", "runs")
    assert result.exit_code == 0, result.output
    assert "Tested on 8 runs." in result.stdout
    for words in ("latent ODE", "last value", "nearest run", "power law", "accuracy (5 %)", "lr (50 %)", "±"):
        assert words in result.stdout
    assert "Spearman (5 %)" in result.stdout
    assert "of 8" in result.stdout
    assert "The rank correlation rests on 8 runs: below 10 " in result.stdout


def test_every_row_says_on_how_many_runs_it_rests(run):
    lines = run("f.lodestar", "runs", "--seed", "1").stdout.splitlines()
    rows = [
        line.split()
        for line in lines
        if line.lstrip().startswith(("loss (", "lr (", "accuracy (", "Spearman (", "RMSE ("))
    ]
    assert len(rows) == 26
    assert all(row[-1] == "8" for row in rows), rows


def test_json_is_pure_and_the_page_is_written_beside_it(run, folder):
    result = run("f.lodestar", "runs", "--where", "schedule=cosine", "--json", "-o", "new/page.html", "--seen", "0.2")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert len(found["runs"]) == 4
    assert {row["seen"] for row in found["accuracy"]} == {0.2}
    assert (folder / "new" / "page.html").read_text().startswith("<!doctype html>")


def test_runs_excluded_are_named(run):
    result = run("f.lodestar", "runs", "--where", "peak_lr=0.1", "--where", "peak_lr=1e-3", "--where", "seed=0")
    assert "boom: diverged" in result.stdout
    assert "Tested on 4 runs." in result.stdout


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["nothing.lodestar", "runs"], "no forecaster file", 1),
        (["f.lodestar", "nowhere"], "no run store at", 1),
        (["f.lodestar", "runs", "--seed", "99"], "there is no run to evaluate on", 1),
        (["f.lodestar", "runs", "--where", "cosine"], "takes KEY=VALUE", 2),
        (["f.lodestar", "runs", "--seen", "5"], "must be a fraction of the run", 2),
        (["f.lodestar", "runs", "--against", "runs"], "none to choose from", 1),
    ],
)
def test_errors_say_the_cure(run, words, said, code):
    result = run(*words)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.split())
