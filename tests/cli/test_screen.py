"""What people and machines see: figures are never cut, errors are JSON where JSON was asked for."""

import json

import pytest
from tests.curves import diverged_run, toy_run, toy_runs
from typer.testing import CliRunner

from lodestar.cli import _screen, app
from lodestar.runs import RunStore, Status


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Call the command in a folder of its own, which has a store with long names in it."""
    monkeypatch.chdir(tmp_path)
    RunStore("runs").add_many([run.replace(name=f"experiment 7 of the tracker {run.name}") for run in toy_runs()])
    return lambda *words: CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_figure_of_a_listing_is_cut(invoke, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = invoke("runs", "runs").stdout.splitlines()
    figures = [line.split()[-5:] for line in lines if " finished " in line]
    assert sorted(figures) == sorted(
        [f"{run.peak_lr:.3g}", str(run.facts.seed), "600", "60", f"{run.final_metric:.4g}"] for run in toy_runs()
    )
    if columns >= 80:
        assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("length", [1, 9, 12, 16, 20, 31, 32, 33, 60])
def test_a_listing_fits_80_columns_whatever_the_length_of_its_names(length, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    RunStore(tmp_path / "s").add_many(
        [
            toy_run("a" * length, "onecycle", peak=0.00123),
            toy_run("b" * length, seed=12345).replace(status=Status.CUT_SHORT),
            diverged_run("c" * length),
        ]
    )
    lines = CliRunner().invoke(app, ["runs", str(tmp_path / "s")]).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0][0] for line in lines if " 600 " in line] == ["a", "b", "c"]


def test_a_table_without_rows_is_a_table():
    assert _screen.width_of(_screen.table("run", ">final")) >= len("run final")


@pytest.mark.parametrize(
    ("words", "kind", "said", "code"),
    [
        (("runs", "nowhere"), "StoreError", "no run store at", 1),
        (("doctor", "nowhere"), "StoreError", "no run store at", 1),
        (("fit", "nowhere", "-o", "f.lodestar"), "StoreError", "no run store at", 1),
        (("evaluate", "no.lodestar", "runs"), "ForecasterError", "no forecaster file", 1),
        (("forecast", "no.lodestar", "runs"), "ForecasterError", "no forecaster file", 1),
        (("explain", "no.jsonl"), "LodestarError", "cannot be read", 1),
        (("report", "nowhere"), "StoreError", "no run store at", 1),
        (("runs",), "UsageError", "Missing argument", 2),
        (("runs", "runs", "--nonsense"), "UsageError", "--nonsense", 2),
        (("nonsense",), "UsageError", "nonsense", 2),
        (("--nonsense", "runs", "runs"), "UsageError", "--nonsense", 2),
        (("evaluate", "no.lodestar", "runs", "--where", "x"), "UsageError", "KEY=VALUE", 2),
    ],
)
def test_an_error_is_an_object_where_json_was_asked_for(invoke, words, kind, said, code):
    result, plain = invoke(*words, "--json"), invoke(*words)
    (error,) = json.loads(result.stdout).values()
    assert (error["kind"], error["exit_code"], result.exit_code) == (kind, code, code)
    assert said in error["message"] and "\n" not in error["message"]
    assert (plain.stdout, plain.exit_code) == ("", code)
    assert said in " ".join(result.stderr.split()) and plain.stderr == result.stderr
