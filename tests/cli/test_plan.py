"""`lodestar plan`: the best schedule in words, as a file, as a picture, and as code."""

import json
from pathlib import Path

import pytest
from tests.responding import responding_forecaster
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.planning import plan
from lodestar.planning.account import PLAN, rivals
from lodestar.runs import Direction
from lodestar.schedules import Schedule

OLD = Path(__file__).parents[1] / "release_one" / "files" / "forecaster.lodestar"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan")
    responding_forecaster().save(path / "f.lodestar")
    return path


@pytest.fixture
def ask(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, ["plan", *words])


def test_the_plan_in_words_beside_its_rivals(ask):
    result = ask("f.lodestar", "--steps", "400")
    assert result.exit_code == 0, result.output
    made = plan(responding_forecaster(), 400)
    ours = rivals(responding_forecaster(), made)[PLAN]
    shown = " ".join(result.stdout.split())
    for part in (
        f"Plan for 400 steps, {made.words}",
        f"Forecast final accuracy: {ours.final:.4g}, 80% interval {ours.lower:.4g} to {ours.upper:.4g}",
        "Against the best plain family: ",
        "Against the best past run's schedule: run-",
        "How flat the top is: with the same shape, any peak from",
        "This rests on 24 past runs. Schedule known, nothing of a run seen: ranks them",
        "n = 24 runs",
    ):
        assert part in shown


def test_json_is_pure_and_whole(ask):
    found = json.loads(ask("f.lodestar", "--steps", "400", "--json").stdout)
    made = plan(responding_forecaster(), 400)
    assert found["lr"] == pytest.approx(list(made.schedule.lr))
    assert found["final"] == pytest.approx(made.forecast.final_metric[0], rel=2e-3)
    assert found["compared"][0]["schedule"] == "the plan"
    assert found["quality"]["response_runs"] == 24
    low, high = responding_forecaster().facts["peak_lr"]
    assert low <= found["as_good_peaks"][0] <= found["peak_lr"] <= found["as_good_peaks"][1] <= high


def test_a_difference_within_luck_is_called_level(ask, monkeypatch):
    import dataclasses

    import lodestar.planning as planning

    def lucky(*arguments, **options):
        return dataclasses.replace(plan(*arguments, **options), luck=0.5)

    monkeypatch.setattr(planning, "plan", lucky)
    assert "that is within luck" in " ".join(ask("f.lodestar", "--steps", "400").stdout.split())


def test_files_hold_the_plan_and_a_picture_draws_it(ask, folder):
    outs = ("plan.json", "plan.csv", "plan.svg", "plan.html")
    result = ask("f.lodestar", "--steps", "400", *(word for out in outs for word in ("-o", out)))
    assert result.exit_code == 0, result.output
    made = plan(responding_forecaster(), 400).schedule
    assert Schedule.from_json(folder / "plan.json").rates == pytest.approx(made.rates)
    assert Schedule.from_csv(folder / "plan.csv").rates == pytest.approx(made.rates)
    for picture in ("plan.svg", "plan.html"):
        text = (folder / picture).read_text()
        assert all(part in text for part in ("the plan", "best past run's schedule: run-", "best plain family: "))


def test_code_alone_goes_to_stdout(ask):
    result = ask("f.lodestar", "--steps", "400", "--as", "torch")
    assert result.exit_code == 0, result.output
    compile(result.stdout, "planned.py", "exec")
    assert "lodestar" not in result.stdout.split("import numpy")[1]
    assert "# Plan for 400 steps" in result.stdout and "Plan for 400 steps" in result.stderr
    assert json.loads(ask("f.lodestar", "--steps", "400", "--as", "torch", "--json").stdout)["code"] == result.stdout


def test_a_metric_to_be_minimised(tmp_path):
    responding_forecaster(24, Direction.MIN).save(tmp_path / "f.lodestar")
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "f.lodestar"), "--steps", "400", "--json"])
    found = json.loads(result.stdout)
    assert found["direction"] == "min"
    finals = [row["final"] for row in found["compared"]]
    assert finals == sorted(finals)
    assert all("better by" in note for note in found["notes"][:2])


@pytest.mark.parametrize("steps", [1, 7, 101])
def test_headline_table_and_sentences_agree_for_any_length(ask, steps):
    found = json.loads(ask("f.lodestar", "--steps", str(steps), "--json").stdout)
    rows = {row["schedule"].split(":")[0]: row["final"] for row in found["compared"]}
    assert rows["the plan"] == found["final"]
    for note, rival in zip(found["notes"], ("best plain family", "best past run's schedule"), strict=False):
        word = "better" if found["final"] >= rows[rival] else "worse"
        assert f"{word} by {abs(found['final'] - rows[rival]):.2g}" in note


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (["f.lodestar", "--steps", "0"], "Invalid value for '--steps'", 2),
        (["f.lodestar", "--steps", "9", "--as", "chainer"], "must be one of torch, optax, keras, transformers", 2),
        (["f.lodestar", "--steps", "9", "-o", "plan.txt"], "--out must end in .json, .csv, .png, .svg, .html", 2),
        (["f.lodestar", "--steps", "9", "--level", "0.7"], "--level must be one of 0.5", 2),
        (["f.lodestar", "--steps", "9", "-o", "nowhere/plan.csv"], "cannot write to nowhere", 1),
        (["nothing.lodestar", "--steps", "9"], "no forecaster file", 1),
        ([str(OLD), "--steps", "9", "--json"], "cannot forecast known schedules", 1),
    ],
)
def test_errors_say_the_cure(ask, words, sentence, code):
    result = ask(*words)
    assert result.exit_code == code
    assert sentence in " ".join(result.stderr.split())
