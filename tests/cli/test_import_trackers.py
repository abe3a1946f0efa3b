"""`lodestar import KIND`: what people and machines see, on an old MLflow folder written by hand."""

import json

import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.importers import READERS, open_reader
from lodestar.runs import RunStore


def write(root, runs, quantities=("train_loss", "val_acc", "lr"), experiment="digits"):
    """An mlruns folder, as MLflow 1 and 2 wrote it."""
    folder = root / "mlruns" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.yaml").write_text(f"experiment_id: '1'\nname: {experiment}\nlifecycle_stage: active\n")
    for name in runs:
        run = folder / f"{name:0>32}"
        (run / "metrics").mkdir(parents=True)
        (run / "meta.yaml").write_text(f"run_id: {run.name}\nrun_name: {name}\nstatus: 3\nlifecycle_stage: active\n")
        for quantity in quantities:
            lines = "".join(f"17000000000{step:02d} {1 / step} {step}\n" for step in range(1, 21))
            (run / "metrics" / quantity).write_text(lines)


@pytest.fixture
def lodestar(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    write(tmp_path, ["a", "b"])
    return lambda *words: CliRunner().invoke(app, ["import", *map(str, words)])


def test_an_import_shows_its_mapping_and_stores_the_runs(lodestar, tmp_path):
    result = lodestar("mlflow", "mlruns", "--out", "s")
    assert result.exit_code == 0, result.output
    assert "train_loss" in result.stdout and "the tracker's own step" in result.stdout
    assert "Imported 2 runs into s." in result.stdout
    assert {run.facts.task for run in RunStore("s").read()} == {"digits"}


def test_a_second_import_says_that_all_was_there(lodestar):
    lodestar("mlflow", "mlruns", "--out", "s")
    result = lodestar("mlflow", "mlruns", "--out", "s")
    assert result.exit_code == 0
    assert "Imported 0 runs into s; 2 were there already, unchanged." in result.stdout


def test_a_dry_run_writes_nothing(lodestar, tmp_path):
    result = lodestar("mlflow", "mlruns", "--out", "s", "--dry-run")
    assert result.exit_code == 0 and "val_acc" in result.stdout
    assert "2 runs would be fetched into s." in result.stdout
    assert not (tmp_path / "s").exists()
    lodestar("mlflow", "mlruns", "--out", "s", "--limit", 1)
    assert (
        "1 runs would be fetched into s, 1 are there" in lodestar("mlflow", "mlruns", "--out", "s", "--dry-run").stdout
    )


def test_json_is_pure_and_complete(lodestar):
    told = json.loads(lodestar("mlflow", "mlruns", "--out", "s", "--json").stdout)
    assert told["imported"] == ["a", "b"]
    assert told["guess"]["columns"]["metric"] == "val_acc"
    assert told["quantities"] == {"lr": 2, "train_loss": 2, "val_acc": 2}


def test_flags_come_before_a_mapping_file(lodestar, tmp_path):
    (tmp_path / "map.toml").write_text('metric = "train_loss"\nloss = "lr"\ndirection = "min"\n')
    words = ("mlflow", "mlruns", "--out", "s", "--mapping", "map.toml", "--loss", "train_loss", "--json")
    columns = json.loads(lodestar(*words).stdout)["guess"]["columns"]
    assert (columns["loss"], columns["metric"]) == ("train_loss", "train_loss")


def test_runs_can_be_filtered_and_limited(lodestar, tmp_path):
    assert json.loads(lodestar("mlflow", "mlruns", "--out", "s", "--name", "b*", "--json").stdout)["imported"] == ["b"]
    assert json.loads(lodestar("mlflow", "mlruns", "--out", "t", "--limit", 1, "--json").stdout)["imported"] == ["a"]


def test_an_error_is_one_sentence_without_a_traceback(lodestar):
    result = lodestar("mlflow", "nowhere", "--out", "s")
    assert result.exit_code == 1 and result.stderr.startswith("Error: there is no MLflow store at nowhere. Fix: ")
    result = lodestar("mlflow", "mlruns", "--out", "s", "--metric", "val_f1")
    assert result.exit_code == 1 and "'val_acc' (2 runs)" in result.stderr
    result = lodestar("mlflow", "mlruns", "--out", "s", "--experiment", "digit")
    assert result.exit_code == 1 and "no experiment 'digit'. It has: 'digits'" in result.stderr


@pytest.mark.parametrize("words", [("--direction", "up"), ("--rebuild-lr", "maybe"), ("--limit", "0")])
def test_wrong_usage_is_exit_code_two(lodestar, words):
    assert lodestar("mlflow", "mlruns", "--out", "s", *words).exit_code == 2


def test_nothing_imported_is_exit_code_one(lodestar, tmp_path):
    for file in (tmp_path / "mlruns").rglob("train_loss"):
        file.write_text("broken\n")
    result = lodestar("mlflow", "mlruns", "--out", "s")
    assert result.exit_code == 1 and "Left out: " in result.stdout and "no run was imported" in result.stderr


def test_csv_is_another_word_for_table(lodestar, tmp_path):
    (tmp_path / "runs.csv").write_text("run,step,loss,val_acc,lr\na,1,3,.1,.01\na,2,2,.3,.01\n")
    assert lodestar("csv", "runs.csv", "--out", "s").exit_code == 0


@pytest.mark.parametrize("kind", READERS)
def test_every_kind_has_a_reader_that_takes_its_options(kind, tmp_path):
    """A kind whose reader is missing or takes other options fails here; the address is wrong on purpose."""
    from lodestar._errors import LodestarError

    options = {choice.keyword: ["x"] if choice.many else "x" for choice in READERS[kind].choices}
    with pytest.raises(LodestarError, match="Fix: "):
        list(open_reader(kind, str(tmp_path / "nowhere"), **options).list())
