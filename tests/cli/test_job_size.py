"""Commands for a job of another size: the law over sizes in plan, what-if, forecast, show; bad sizes in a sentence."""

import json

import pytest
from tests.responding import drawn, responding_forecaster
from tests.sized import best_peak, sized_forecaster, sized_run
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import RunStore
from lodestar.schedules import parse


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sizes")
    sized_forecaster().save(path / "sized.lodestar")
    responding_forecaster().save(path / "one.lodestar")
    RunStore(path / "runs").add_many([sized_run(drawn(5000), 256.0, 5000, name="big")])
    return path


@pytest.fixture
def ask(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_plan_is_that_of_the_jobs_size_and_the_law_is_shown(ask):
    plans = {}
    for size in (32, 256):
        result = ask("plan", "sized.lodestar", "--steps", 400, "--size", size, "--batch", 64, "--json")
        assert result.exit_code == 0, result.output
        plans[size] = json.loads(result.stdout)
    assert plans[256]["peak_lr"] < 0.5 * plans[32]["peak_lr"]
    assert 1 / 1.6 < plans[256]["peak_lr"] / best_peak(256.0, parse("linear:1e-3:warmup=0.1", 400)) < 1.6
    said = " ".join(plans[256]["notes"])
    assert "In your runs the best rate falls as width^-0" in said and "80 % interval), from 3 widths" in said
    assert "At width 256, batch size 64, length in steps 400 the best rates are" in said


def test_how_the_rate_moves_is_drawn(ask, folder):
    result = ask("plan", "sized.lodestar", "--steps", 400, "--size", 256, "--over-rates", "rates.html")
    assert result.exit_code == 0, result.output
    page = (folder / "rates.html").read_text()
    assert "the job, width 256" in page and "best peak rate over width" in page


def test_what_a_schedule_would_give_depends_on_the_size(ask):
    finals = {}
    for size in (32, 256):
        result = ask("what-if", "sized.lodestar", "--steps", 400, "--size", size, "--schedule", "linear:6e-3", "--json")
        assert result.exit_code == 0, result.output
        finals[size] = json.loads(result.stdout)["schedules"][0]["final"]
    assert finals[256] < finals[32] - 0.05  # far too high a rate for the wide one


def test_a_stored_run_is_forecast_at_its_own_size(ask):
    result = ask("forecast", "sized.lodestar", "runs", "--run", "big", "--seen", "0.5", "--json")
    assert result.exit_code == 0, result.output


def test_what_the_file_knows_of_sizes_is_shown(ask):
    shown = " ".join(ask("show", "sized.lodestar").stdout.split())
    assert "law over sizes: in your runs the best rate falls as width^-0" in shown
    law = json.loads(ask("show", "sized.lodestar", "--json").stdout)["scale_law"]
    assert [quantity["name"] for quantity in law["quantities"]] == ["width", "batch_size", "total_steps"]
    assert json.loads(ask("show", "one.lodestar", "--json").stdout)["scale_law"] is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--size", 0], "must be above 0, got 0"),
        (["--size", "nan"], "must be above 0, got nan"),
        (["--batch", -3], "must be above 0, got -3"),
        (["--size", 64000], "beyond 100 times no law is to be trusted"),
        (["--over-rates", "rates.txt"], "must end in .png, .svg, .html, got 'rates.txt'"),
    ],
)
def test_a_size_that_cannot_be_is_a_sentence(ask, words, sentence):
    result = ask("plan", "sized.lodestar", "--steps", 400, *words)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.replace("│", " ").split())


def test_nothing_to_draw_is_said_with_the_fix(ask):
    result = ask("plan", "one.lodestar", "--steps", 400, "--over-rates", "rates.png")
    assert result.exit_code == 2
    assert "differ in neither size, batch nor length. Fix: lodestar sweep --sizes" in " ".join(
        result.stderr.replace("│", " ").split()
    )


def test_runs_that_differ_in_size_and_a_job_that_does_not_state_its_own_is_warned_of(ask):
    result = ask("plan", "sized.lodestar", "--steps", 400)
    assert result.exit_code == 0, result.output
    assert "past runs differ in their width (16 to 64) and the job does not state its own" in " ".join(
        result.stderr.split()
    )


def test_a_batch_that_no_past_run_states_is_not_passed_over_in_silence(ask):
    result = ask("plan", "one.lodestar", "--steps", 400, "--batch", 64)
    assert result.exit_code == 0, result.output
    assert "the job's batch size is 64, but the forecaster's runs state no batch size" in " ".join(
        result.stderr.split()
    )
