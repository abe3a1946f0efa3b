"""`lodestar what-if`: schedules of every kind side by side, a run continued, and bad input in a sentence."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, responding_forecaster, run_of
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.forecaster.known_schedules import judge
from lodestar.runs import Direction, RunStore, Series
from lodestar.schedules import parse

OLD = Path(__file__).parents[1] / "release_one" / "files" / "forecaster.lodestar"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A forecaster, a store of three runs (one of them still going), and schedules in files."""
    path = tmp_path_factory.mktemp("what-if")
    responding_forecaster().save(path / "f.lodestar")
    going = run_of(drawn(502), 502, name="going")
    cut = {name: Series(part.steps[part.steps <= 200], part.values[part.steps <= 200]) for name, part in parts(going)}
    other_way = run_of(drawn(503), 503, name="other-way", direction=Direction.MIN)
    RunStore(path / "runs").add_many([run_of(drawn(501), 501, name="mine:v1"), going.replace(**cut), other_way])
    parse("linear:2e-3", TOTAL).to_json(path / "plan.json")
    parse("linear:2e-3", TOTAL).to_csv(path / "plan.csv")
    (path / "rates.py").write_text(
        f"def rate(step):\n    return 2e-3 * (1 - step / {TOTAL})\n\ndef bad(step):\n    return 1 / 0\n"
    )
    (path / "nan.csv").write_text("step,lr\n1,1e-3\n400,nan\n")
    (path / "zero.csv").write_text("step,lr\n1,0\n400,0\n")
    (path / "other.csv").write_text("iteration,rate\n1,0\n")
    (path / "from-zero.csv").write_text("step,lr\n0,1e-3\n400,1e-3\n")
    odd = json.loads((path / "plan.json").read_text())
    (path / "odd.json").write_text(json.dumps({**odd, "first_step": "one"}))
    (path / "empty.csv").write_text("step,lr\n")
    shutil.copy(OLD, path / "old.lodestar")
    return path


def parts(run):
    return (("loss", run.loss), ("metric", run.metric), ("lr", run.lr))


@pytest.fixture
def ask(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *words: CliRunner().invoke(app, ["what-if", *words])


@pytest.fixture
def found(ask):
    """The schedules as JSON, by their words."""

    def asked(*words):
        result = ask("f.lodestar", "--json", *words)
        assert result.exit_code == 0, result.output
        return {each["schedule"]: each for each in json.loads(result.stdout)["schedules"]}

    return asked


def test_a_table_best_first_with_intervals_and_doubt(ask):
    words = ("--schedule", "constant:4e-4", "--schedule", "wsd:5e-3:decay=0.2", "--schedule", "linear:3e-3")
    result = ask("f.lodestar", "--steps", "400", *words)
    assert result.exit_code == 0, result.output
    places = [result.stdout.index(name) for name in ("wsd:5e-3:decay=0.2", "linear:3e-3", "constant:4e-4")]
    assert places == sorted(places)
    for part in ("final accuracy by schedule", "80% interval", "doubt", "apart"):
        assert part in result.stdout
    assert "extrapolation" not in result.stdout


def test_json_holds_what_the_model_says(found):
    one = found("--steps", "400", "--schedule", "linear:3e-3", "--level", "0.95")["linear:3e-3"]
    judged = judge(responding_forecaster(), parse("linear:3e-3", 400).rates[None], level=0.95)
    expected = [judged.centre[0], judged.lower[0], judged.upper[0], judged.doubt[0]]
    assert [one[name] for name in ("final", "lower", "upper", "doubt")] == pytest.approx(expected)
    assert one["forecast"]["metric"]["centre"][-1] == pytest.approx(one["final"])
    assert one["extrapolation"] is None


@pytest.mark.parametrize(("words", "side"), [("linear:0.5", "above"), ("linear:1e-5", "below")])
def test_a_peak_nobody_tried_is_forecast_and_marked(ask, found, words, side):
    assert np.isfinite(found("--steps", "400", "--schedule", words)[words]["final"])
    result = ask("f.lodestar", "--steps", "400", "--schedule", words, "--schedule", "linear:3e-3")
    assert f"lies {side} every past run's (0.000362 to 0.00908)" in result.stdout
    assert result.stdout.count("extrapolation") == 2


def test_the_best_within_what_was_tried_is_named_where_the_first_is_not(ask):
    result = ask("f.lodestar", "--steps", "400", "--schedule", "cosine:0.5", "--schedule", "linear:3e-3")
    assert "The best within what past runs have tried: linear:3e-3." in result.stdout


def test_a_file_a_function_and_words_for_the_same_schedule_agree(found):
    kinds = ["plan.json", "plan.csv", "rates.py:rate", "rates:rate", "linear:2e-3:warmup=0"]
    asked = [word for kind in kinds for word in ("--schedule", kind)]
    made = found("--steps", "400", *asked)
    assert made["plan.csv"]["final"] == pytest.approx(made["plan.json"]["final"])
    assert made["rates.py:rate"]["final"] == made["rates:rate"]["final"]
    assert made["rates.py:rate"]["final"] == pytest.approx(made["linear:2e-3:warmup=0"]["final"], abs=2e-3)


def test_a_past_run_lends_its_schedule_stretched_to_this_job(found):
    made = found("--steps", "1000", "--runs", "runs", "--schedule", "mine:v1")["mine:v1"]
    itself = judge(responding_forecaster(), drawn(501).rates[None]).centre[0]
    assert made["final"] == pytest.approx(itself, abs=2e-3)


def test_a_run_is_continued_under_each_and_its_own_schedule(ask, found):
    words = ("--runs", "runs", "--run", "mine:v1", "--seen", "0.4", "--schedule", "cosine:1e-3")
    made = found(*words)
    assert set(made) == {"mine:v1 (as it was)", "cosine:1e-3"}
    forecaster = responding_forecaster()
    context = forecaster.context_of(run_of(drawn(501), 501), 0.4)
    expected = judge(forecaster, parse("cosine:1e-3", TOTAL).rates[None], context).centre[0]
    assert made["cosine:1e-3"]["final"] == pytest.approx(expected)
    assert made["cosine:1e-3"]["forecast"]["seen"] == [0, 40]
    truth = run_of(drawn(501), 501).metric.values[-1]
    assert f"mine:v1 really ended at {truth:.4g}" in ask("f.lodestar", *words).stdout


def test_a_run_still_going_has_no_schedule_of_its_own_to_compare(ask, found):
    assert set(found("--runs", "runs", "--run", "going", "--schedule", "cosine:1e-3")) == {"cosine:1e-3"}
    result = ask("f.lodestar", "--runs", "runs", "--run", "going")
    assert result.exit_code == 2 and "not known to its end" in said(result)


def test_a_plan_made_on_the_way_holds_for_the_rest(found, folder):
    from lodestar.schedules import Schedule

    Schedule("rest", np.full(200, 1e-3), first_step=201).to_json(folder / "rest.json")
    made = found("--runs", "runs", "--run", "going", "--schedule", "rest.json", "--schedule", "constant:1e-3")
    assert made["rest.json"]["final"] == pytest.approx(made["constant:1e-3"]["final"])


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.html", b"<!doctype html>")]
)
def test_they_are_drawn_together(ask, folder, name, start):
    words = ("--runs", "runs", "--run", "mine:v1", "--seen", "0.5", "--schedule", "linear:3e-3")
    result = ask("f.lodestar", *words, "-o", name)
    assert result.exit_code == 0, result.output
    data = (folder / name).read_bytes()
    assert data.startswith(start)
    if not name.endswith("png"):
        assert b"linear:3e-3" in data and b"mine:v1 (as it was)" in data


def test_a_job_of_another_length_is_said_to_be_one(tmp_path, monkeypatch):
    import dataclasses

    known = responding_forecaster()
    dataclasses.replace(known, facts={**known.facts, "total_steps": [400, 400]}).save(tmp_path / "f.lodestar")
    monkeypatch.chdir(tmp_path)
    asked = ["what-if", "f.lodestar", "--schedule", "linear:3e-3", "--steps"]
    assert "past runs had 400 steps, this job has 900" in " ".join(
        CliRunner().invoke(app, [*asked, "900"]).stdout.split()
    )
    assert "past runs had" not in CliRunner().invoke(app, [*asked, "400"]).stdout


def said(result) -> str:
    return " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("schedule", "sentence", "code"),
    [
        ("lineer:3e-3", "there is no schedule family 'lineer' (in 'lineer:3e-3'). Fix: one of constant, cosine", 2),
        ("linear:0", "the peak must be a finite number above 0, got 0.0", 2),
        ("linear:-1e-3", "the peak must be a finite number above 0, got -0.001", 2),
        ("linear:nan", "the peak must be a finite number above 0, got nan", 2),
        ("nan.csv", "must be finite numbers >= 0, got nan at step 400", 2),
        ("zero.csv", "'zero.csv': its learning rate must be above zero somewhere", 2),
        ("other.csv", "has no column 'step'", 2),
        ("empty.csv", "empty.csv holds no learning rate", 2),
        ("from-zero.csv", "steps 0 to 400, those of 1 to 400 are needed, counted from 1", 2),
        ("odd.json", "the plan odd.json is damaged", 2),
        ("nowhere.csv", "there is no file nowhere.csv", 2),
        ("nobody", "no run of --runs. Fix: family:peak, such as linear:3e-3, with a family of constant", 2),
        ("rates.py:bad", "rates.py:bad failed at step 1: ZeroDivisionError", 2),
        ("rates.py:none", "has no 'none'", 1),
        ("nosuch:rate", "there is no module 'nosuch'", 1),
        ("going", "known up to step 200 of 400 only", 2),
    ],
)
def test_a_bad_schedule_is_one_sentence(ask, schedule, sentence, code):
    result = ask("f.lodestar", "--steps", "400", "--runs", "runs", "--schedule", schedule, "--json")
    assert result.exit_code == code
    assert sentence in said(result)
    assert set(json.loads(result.stdout)) == {"error"}


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (
            ["--steps", "500", "--schedule", "plan.csv"],
            "holds the learning rates of steps 1 to 400, those of 1 to 500",
            2,
        ),
        (["--schedule", "linear:1e-3"], "how many optimizer steps", 2),
        (["--steps", "400"], "name at least one, such as linear:3e-3", 2),
        (["--run", "going", "--schedule", "linear:1e-3"], "name the store that holds the run", 2),
        (["--runs", "runs", "--run", "mine:v1", "--schedule", "linear:1e-3"], "is over: no step is left", 1),
        (["--runs", "runs", "--run", "other-way", "--seen", "0.5"], "its metric is to be minimised", 1),
        (["--runs", "runs", "--run", "who", "--seen", "0.5"], "there is no run 'who'", 1),
        (["--steps", "400", "--schedule", "linear:1e-3", "--level", "0.7"], "--level must be one of 0.5, 0.8", 2),
        (["--steps", "400", "--schedule", "linear:1e-3", "-o", "a.gif"], "--out must end in .png, .svg, .html", 2),
    ],
)
def test_wrong_usage_is_one_sentence(ask, words, sentence, code):
    result = ask("f.lodestar", *words)
    assert result.exit_code == code
    assert sentence in said(result)


def test_an_old_file_says_that_it_cannot(ask):
    result = ask("old.lodestar", "--steps", "300", "--schedule", "linear:1e-3", "--json")
    assert result.exit_code == 1 and set(json.loads(result.stdout)) == {"error"}
    assert "cannot forecast known schedules" in said(result) and "Fix: lodestar fit" in said(result)
