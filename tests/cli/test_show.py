"""`lodestar show`: what a forecaster was fitted to and how good it is, of this release and the first."""

import dataclasses
import json
from pathlib import Path

import pytest
from tests.responding import responding_forecaster
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.forecaster import load

OLD = Path(__file__).parents[1] / "release_one" / "files" / "forecaster.lodestar"


@pytest.fixture
def show(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, ["show", *map(str, words)])


@pytest.fixture
def file(tmp_path):
    known = responding_forecaster()
    facts = {
        "workloads": {"digits": 24},
        "total_steps": [300, 400],
        "set_aside": [["x", "no lr"]],
        "job": {"optimizers": {"AdamW": 20, "SGD": 3}, "batch_sizes": [32, 64], "parameters": [1200, 1200]},
    }
    facts |= {"held_out": [["run-1", "run-2"], ["run-2", "run-3"]], "preset": "default", "lodestar": "0.2.0"}
    quality = {**known.quality, "held_out_runs": 3, "spearman_05": 0.6, "final_metric_rmse_05": 0.02}
    path = tmp_path / "f.lodestar"
    dataclasses.replace(known, facts={**known.facts, **facts}, quality=quality).save(path)
    return path


def test_everything_known_is_said_in_words(show, file):
    result = show(file)
    assert result.exit_code == 0, result.output
    for part in (
        "accuracy, higher is better",
        "digits (24 runs)",
        "AdamW (20 runs), SGD (3 runs)\n",
        "24 runs, 3 of them held out to check it; 1 more were excluded",
        "peaks 0.000362 to 0.00908",
        "300 to 400 steps",
        "batch 32 to 64, parameters 1200",
        "preset default",
        "Schedule unknown, 5 % of a run seen: ranks them roughly (rank correlation 0.60); final metric off by 0.02",
        "n = 3 runs it had not seen, too few to be sure of that.",
        "Schedule known, nothing of a run seen: ranks them very well",
        "Schedule known, 50 % of a run seen: ranks them very well",
        "n = 24 runs it had not seen.",
        "It knows schedules.",
    ):
        assert part in result.stdout


def test_json_is_pure(show, file):
    found = json.loads(show(file, "--json").stdout)
    assert (found["runs"], found["held_out_runs"], found["excluded_runs"]) == (24, 3, 1)
    assert found["workloads"] == {"digits": 24} and found["optimizers"] == {"AdamW": 20, "SGD": 3}
    assert found["knows_schedules"] is True and found["direction"] == "max" and found["bytes"] > 1000
    assert found["quality"]["response_runs"] == 24
    assert len(found["quality_words"]) == 3


def test_a_file_of_release_one_is_shown_and_said_to_know_no_schedules(show):
    result = show(OLD)
    assert result.exit_code == 0, result.output
    for part in ("8 runs, 2 of them held out", "300 steps", "by Lodestar 0.1.0", "It does not know schedules", "n = 2"):
        assert part in result.stdout
    assert json.loads(show(OLD, "--json").stdout)["knows_schedules"] is False


def test_a_forecaster_that_held_nothing_out_says_so(show, tmp_path):
    dataclasses.replace(load(OLD), quality={}).save(tmp_path / "f.lodestar")
    assert "nothing was held out, so how good the forecasts are is not known" in show(tmp_path / "f.lodestar").stdout


def test_what_is_no_forecaster_is_an_error(show, tmp_path):
    result = show(tmp_path / "nothing.lodestar")
    assert result.exit_code == 1 and "no forecaster file" in " ".join(result.stderr.split())
