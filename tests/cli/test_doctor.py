"""`lodestar doctor`: sentences for people, JSON for machines, exit code 1 when something is wrong."""

import json

import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import Direction, Run, RunStore, Series


@pytest.fixture
def doctor(tmp_path, monkeypatch):
    """Examine something in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, ["doctor", *words])


def run(name: str, *, lr: bool = True, peak: float = 0.1) -> Run:
    steps = list(range(1, 41))
    curve = Series(steps, [1 / step for step in steps])
    rate = Series(steps, [peak] * 40) if lr else Series.empty()
    return Run(name, curve, curve, rate, Direction.MIN, metric_name="val_loss")


def test_errors_name_the_run_and_the_cure(doctor):
    RunStore("s").add_many([run("[red]x", lr=False), run("fine"), run("fine too", peak=0.2)])
    result = doctor("s")
    assert result.exit_code == 1
    assert "[red]x: has no learning rate" in result.stdout
    assert "--lr COLUMN" in result.stdout
    assert "Runs that would help most" in result.stdout


def test_warnings_alone_are_exit_code_zero(doctor):
    RunStore("s").add_many(run(f"r{i}", peak=0.1 * 1.3**i) for i in range(10))
    result = doctor("s")
    assert result.exit_code == 0
    assert "10 of 10 runs can be used" in result.stdout


def test_json_holds_findings_and_suggestions(doctor):
    RunStore("s").add_many([run("a", lr=False), run("b")])
    told = json.loads(doctor("s", "--json").stdout)
    assert {finding["check"] for finding in told["findings"]} >= {"missing lr", "too few"}
    assert told["suggestions"][0].keys() == {"schedule", "peak_lr", "seed", "reason"}
    assert told["healthy"] is False


def test_many_alike_are_summed_up_unless_all_are_asked_for(doctor):
    RunStore("s").add_many(run(f"r{i}", lr=False) for i in range(9))
    assert "and 6 more runs like these" in doctor("s").stdout
    assert "r8: has no learning rate" in doctor("s", "--all").stdout


def test_an_empty_store(doctor):
    RunStore.create("s")
    result = doctor("s")
    assert result.exit_code == 1
    assert "There are no runs." in result.stdout


def test_a_missing_store_says_how_to_make_one(doctor):
    result = doctor("nowhere")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: there is no run store at nowhere. Fix: lodestar import")


def test_a_table_can_be_examined_before_it_is_imported(doctor, tmp_path):
    (tmp_path / "t.csv").write_text("step,loss,val_acc\n1,2,.1\n2,1,.2\n")
    result = doctor("t.csv")
    assert "t: has no learning rate" in result.stdout


def test_a_folder_of_tables_and_a_folder_of_nothing(doctor, tmp_path):
    (tmp_path / "logs").mkdir()
    assert "is no run store" in doctor("logs").stderr
    (tmp_path / "logs" / "t.csv").write_text("step,loss,val_acc\n1,2,.1\n2,1,.2\n")
    assert "1 runs, 0 usable" in doctor("logs").stdout


def test_runs_of_a_table_that_cannot_be_read_are_not_passed_over(doctor, tmp_path):
    (tmp_path / "t.csv").write_text("run,step,loss,val_acc,lr\na,1,2,.1,-1\nb,1,2,.1,.1\n")
    result = doctor("t.csv", "--json")
    assert "not examined: a" in result.stderr
    assert [left["run"] for left in json.loads(result.stdout)["left_out"]] == ["a"]
