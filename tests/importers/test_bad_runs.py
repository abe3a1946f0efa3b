"""One bad run costs no other: it is stored with a note or left out with the reason, and the others are stored."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.importers.shelf import Shelf, curves

from lodestar.importers import import_runs, open_reader
from lodestar.importers.reader import LoggedCurve
from lodestar.importers.report import ImportReport
from lodestar.runs import RunStore

BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{" + ", ".join(f"k{i}: *a{n - 1}" for i in range(9)) + "}\n" for n in range(1, 12)
)
LISTS = "a0: &a0 [1, 2]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


def lightning(place: Path, name: str, hparams: str = "lr: 0.1\n") -> None:
    folder = place / name
    folder.mkdir(parents=True)
    rows = "\n".join(f"{step},{1 / (step + 1)},{step / 9},0.1" for step in range(10))
    (folder / "metrics.csv").write_text(f"step,train_loss,val_acc,lr\n{rows}\n")
    (folder / "hparams.yaml").write_text(hparams)


def trainer(place: Path, name: str, **odd) -> None:
    history = [{"step": s, "loss": 1 / s, "eval_accuracy": 1 - 1 / s, "learning_rate": 0.1} for s in range(1, 9)]
    state = {"log_history": history, "global_step": 8, "max_steps": 8, **odd}
    (place / name).mkdir(parents=True)
    (place / name / "trainer_state.json").write_text(json.dumps(state))


def imported(kind: str, place: Path, store: Path) -> ImportReport:
    report = import_runs(open_reader(kind, str(place)), RunStore(store))
    assert sorted(report.imported) == sorted(summary.name for summary in RunStore(store).list())
    return report


@pytest.mark.parametrize(
    "hparams",
    [
        pytest.param(BOMB, id="aliases of mappings"),
        pytest.param(LISTS, id="aliases of lists"),
        pytest.param("a: &a {b: *a}\n", id="a mapping in itself"),
        pytest.param("a: &a [*a]\nlr: 0.1\n", id="a list in itself"),
        pytest.param("[" * 500_000, id="deep"),
        pytest.param("lr: [0.1\n", id="no YAML"),
        pytest.param("a: " + "x" * 2_000_000, id="very long"),
    ],
)
def test_settings_that_cannot_be_read_are_a_note_on_the_run(tmp_path, hparams):
    lightning(tmp_path / "logs", "good")
    lightning(tmp_path / "logs", "odd", hparams)
    report = imported("lightning", tmp_path / "logs", tmp_path / "s")
    assert sorted(report.imported) == ["good", "odd"]
    told = [note for run, note in report.notes if run == "odd" and "hparams.yaml" in note]
    assert len(told) == 1 and "settings are not known" in told[0]


@pytest.mark.parametrize(
    "odd",
    [{"max_steps": "x"}, {"max_steps": [1]}, {"global_step": "x"}, {"global_step": None}, {"max_steps": 10**400}],
    ids=str,
)
def test_a_trainer_state_with_an_odd_length_is_stored(tmp_path, odd):
    trainer(tmp_path / "out", "good")
    trainer(tmp_path / "out", "odd", **odd)
    report = imported("huggingface", tmp_path / "out", tmp_path / "s")
    assert sorted(report.imported) == ["good", "odd"]


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000])
def test_json_nested_without_end_is_that_runs_trouble(tmp_path, deep):
    trainer(tmp_path / "out", "good")
    trainer(tmp_path / "out", "odd")
    (tmp_path / "out" / "odd" / "trainer_state.json").write_text(deep)
    report = imported("huggingface", tmp_path / "out", tmp_path / "s")
    assert report.imported == ["good"]
    assert [run for run, _ in report.left_out] == ["odd"]


def test_a_ray_trial_with_nested_results_keeps_the_others(tmp_path):
    for name, line in (("good", ""), ("odd", '{"a":' * 100_000 + "\n")):
        folder = tmp_path / "tune" / name
        folder.mkdir(parents=True)
        results = [{"training_iteration": s, "loss": 1 / s, "val_acc": 1 - 1 / s, "lr": 0.1} for s in range(1, 9)]
        (folder / "result.json").write_text(line + "".join(json.dumps(result) + "\n" for result in results))
        (folder / "params.json").write_text("{}")
    report = imported("ray", tmp_path / "tune", tmp_path / "s")
    assert sorted(report.imported) == ["good", "odd"]
    assert any(run == "odd" and "line 1 of result.json" in note for run, note in report.notes)


def test_a_name_that_is_no_unicode_is_stored_under_one_that_is(tmp_path):
    shelf = Shelf()
    shelf.put("1", curves(), name="good", group="digits")
    shelf.put("2", curves(), name="odd \ud800", group="task \udcff", config={"k\ud801": "v\udfff", "seed": 3})
    _, report = (import_runs(shelf, RunStore(tmp_path / "s")) for _ in range(2))
    assert sorted(report.unchanged) == ["good", "odd \\ud800"]
    run = RunStore(tmp_path / "s").read(["odd \\ud800"])[0]
    assert (run.facts.task, run.facts.seed, run.facts.extra["k\\ud801"]) == ("task \\udcff", 3, "v\\udfff")
    assert any("no valid Unicode" in note for note in run.notes)


def test_a_folder_whose_name_is_no_unicode_costs_no_other(tmp_path):
    for make, kind in ((trainer, "huggingface"), (lightning, "lightning")):
        make(tmp_path / kind, "good")
        make(tmp_path / kind, "odd\udcff")
    report = imported("huggingface", tmp_path / "huggingface", tmp_path / "s")
    assert sorted(report.imported) == ["good", "odd\\udcff"]
    report = imported("lightning", tmp_path / "lightning", tmp_path / "t")  # Arrow opens no such path
    assert report.imported == ["good"]
    assert [run for run, _ in report.left_out] == ["odd\\udcff"]


def test_a_run_that_cannot_be_stored_is_left_out_alone(tmp_path):
    shelf = Shelf()
    shelf.put("1", curves(), name="good")
    shelf.put("2", curves(), name="odd", config={"k": object()})
    shelf.put("3", curves(), name="total", config={"total_steps": 10**300})
    shelf.put("4", curves(), name="last")
    report = import_runs(shelf, RunStore(tmp_path / "s"))
    assert set(report.imported) == {run.name for run in RunStore(tmp_path / "s").list()} == {"good", "last", "total"}
    assert [run for run, _ in report.left_out] == ["odd"] and "must be a text" in report.left_out[0][1]


class Wild(Shelf):
    """A reader that meets things nobody thought of."""

    def fetch(self, run, quantities):
        if run.key == "2":
            raise ZeroDivisionError("what is this")
        if run.key == "3":
            return {name: LoggedCurve(np.array([1.0, np.nan]), np.array([1.0, 2.0])) for name in quantities}
        return super().fetch(run, quantities)


def test_an_error_nobody_thought_of_costs_one_run(tmp_path):
    wild = Wild()
    for key in "1234":
        wild.put(key, curves(), name=f"run-{key}")
    report = import_runs(wild, RunStore(tmp_path / "s"))
    assert {"run-1", "run-4"} <= set(report.imported)
    reason = dict(report.left_out)["run-2"]
    assert "ZeroDivisionError: what is this" in reason and "Fix: " in reason


@pytest.mark.parametrize("name", ["loss²", "loss" + "9" * 5000])
def test_a_quantity_with_odd_digits_is_no_error(tmp_path, name):
    shelf = Shelf()
    shelf.put("1", {**curves(), name: {1: 2.0}})
    assert import_runs(shelf, RunStore(tmp_path / "s")).imported == ["1"]


@pytest.mark.parametrize("meta", [BOMB, "a: &a {b: *a}\nname: *a\n", "\x00", "- 1", "[" * 500_000])
def test_a_meta_file_of_mlflow_that_cannot_be_read_is_that_runs_trouble(tmp_path, meta):
    for key in ("good", "odd"):
        folder = tmp_path / "mlruns" / "0" / key
        (folder / "metrics").mkdir(parents=True)
        for name in ("train_loss", "val_acc", "lr"):
            (folder / "metrics" / name).write_text("".join(f"0 {1 / s} {s}\n" for s in range(1, 9)))
        (folder / "meta.yaml").write_text(f"run_id: {key}\nrun_name: {key}\nstatus: 3\nlifecycle_stage: active\n")
    (tmp_path / "mlruns" / "0" / "meta.yaml").write_text("experiment_id: '0'\nname: digits\nlifecycle_stage: active\n")
    (tmp_path / "mlruns" / "0" / "odd" / "meta.yaml").write_text(meta)
    report = imported("mlflow", tmp_path / "mlruns", tmp_path / "s")
    assert report.imported == ["good"]
    assert [run for run, _ in report.left_out] == ["odd"] and "meta.yaml" in report.left_out[0][1]
