"""`lodestar fit` and `lodestar forecast`, as a new user would call them."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.curves import diverged_run, toy_run, toy_runs
from typer.testing import CliRunner

from lodestar import load
from lodestar.cli import app
from lodestar.runs import RunStore, Series

QUICK = ["--set", "latent=6", "--set", "hidden=8", "--set", "steps=6", "--set", "tokens=8", "--set", "check_every=50"]

NO_RESPONSE = ["--set", "response=false"]  # it takes most of so short a fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store with a diverged run in it, an empty one, and a fitted forecaster."""
    path = tmp_path_factory.mktemp("fit")
    RunStore(path / "runs").add_many([*toy_runs(), diverged_run("[red]boom")])
    RunStore.create(path / "none")
    done = CliRunner().invoke(
        app, ["fit", str(path / "runs"), "-o", str(path / "f.lodestar"), "--updates", "100", *QUICK]
    )
    assert done.exit_code == 0, done.output
    assert "[red]boom: diverged" in done.stderr
    assert "Fitted to 16 runs" in done.stdout
    assert "Relative MSE on runs it never learned from" in done.stdout
    assert "the rank correlation with 5 % of each run seen rests on 4 runs" in " ".join(done.stderr.split())
    return path


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *words: CliRunner().invoke(app, list(words))


def test_the_file_is_there_and_no_checkpoint_is_left(folder):
    assert load(folder / "f.lodestar").facts["runs"] == 16
    assert not list(folder.glob("*.fit"))


def test_json_tells_facts_and_quality(run):
    """As many runs are left as `folder` has: what is compiled for one fit serves the other."""
    RunStore("more").add_many([*toy_runs(seeds=3), diverged_run("[red]boom")])
    done = run(
        "fit", "more", "-o", "g.lodestar", "--updates", "50", "--leave-seed", "1", "--json", *QUICK, *NO_RESPONSE
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["facts"]["runs"] == 16
    assert told["facts"]["set_aside"][0][0] == "[red]boom"
    assert "spearman_50" in told["quality"] or told["quality"]["held_out_runs"] < 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("fit", "nowhere", "-o", "x"), "nowhere"),
        (("fit", "none", "-o", "x"), "there is no run to prepare"),
        (("fit", "runs", "-o", "x", "--set", "latnet=3"), "there is no fit setting 'latnet'"),
        (("fit", "runs", "-o", "x", "--set", "latent"), "NAME=VALUE"),
        (("fit", "runs", "-o", "x", "--preset", "turbo"), "preset must be one of"),
        (("fit", "runs", "-o", "x", "--metric-kind", "loudness"), "metric kind must be"),
        (("fit", "runs", "-o", "f.lodestar/x"), "cannot be"),
        (("forecast", "nope.lodestar", "runs", "--run", "a"), "there is no forecaster file"),
        (("forecast", "f.lodestar", "runs", "--run", "nobody"), "there is no run 'nobody' among these 17"),
        (("forecast", "f.lodestar", "runs"), "there are several runs"),
        (("forecast", "f.lodestar", "runs", "--run", "cosine-0.001-0", "--level", "0.3"), "must be one of"),
    ],
)
def test_bad_input_is_one_sentence_with_a_cure(run, words, says):
    done = run(*words)
    assert done.exit_code in (1, 2)
    assert says in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_all_runs_diverged_says_so(run, tmp_path):
    RunStore(tmp_path / "bad").add_many([diverged_run("a"), diverged_run("b")])
    done = run("fit", str(tmp_path / "bad"), "-o", "x.lodestar")
    assert done.exit_code == 1
    assert "no usable run among 2" in " ".join(done.stderr.split())


def test_one_run_is_too_few(run, tmp_path):
    RunStore(tmp_path / "one").add(toy_run("only"))
    done = run("fit", str(tmp_path / "one"), "-o", "x.lodestar")
    assert done.exit_code == 1
    assert "needs at least 4 usable runs, got 1" in " ".join(done.stderr.split())


def test_a_forecast_stands_beside_the_truth(run):
    done = run("forecast", "f.lodestar", "runs", "--run", "cosine-0.001-0", "--seen", "0.05", "--schedule", "unknown")
    assert done.exit_code == 0, done.output
    assert "the whole run from its first 5%" in done.stdout
    assert "Schedule unknown, so it is forecast too: as asked for." in done.stdout
    assert "80% interval" in done.stdout
    assert "Final accuracy" in done.stdout
    assert "From 3 of 60 points of this run; fitted to 16 runs, intervals from 4 held out." in done.stdout
    assert "the interval rests on 4 runs" in " ".join(done.stderr.split())


def test_nothing_is_forecast_from_nothing(run, tmp_path):
    whole = toy_run("late")
    begun = {
        name: Series(s.steps[20:], s.values[20:]) for name in ("loss", "metric", "lr") for s in [getattr(whole, name)]
    }
    RunStore(tmp_path / "late").add(whole.replace(**begun))
    done = run("forecast", "f.lodestar", str(tmp_path / "late"), "--seen", "0.05")
    assert done.exit_code == 1
    assert "there is nothing to forecast from" in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_a_forecast_is_drawn(run, folder):
    done = run("forecast", "f.lodestar", "runs", "--run", "step-0.003-1", "--seen", "0.2", "-o", "a.png")
    assert done.exit_code == 0, done.output
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run("forecast", "f.lodestar", "runs", "--run", "step-0.003-1", "-o", "a.gif").exit_code == 2


def test_a_forecast_as_json_has_every_point(run):
    done = run("forecast", "f.lodestar", "runs", "--run", "cosine-0.001-0", "--seen", "0.5", "--json")
    told = json.loads(done.stdout)
    assert len(told["metric"]["centre"]) == 60
    assert told["seen"] == [0, 30]


def test_a_schedule_that_was_logged_to_the_end_is_followed(run, folder):
    done = run("forecast", "f.lodestar", "runs", "--run", "cosine-0.001-0", "--seen", "0.05")
    assert "Schedule known: logged to its end." in done.stdout
    assert "fitted to 16 runs, intervals from 16 held out" in done.stdout
    told = json.loads(run("forecast", "f.lodestar", "runs", "--run", "cosine-0.001-0", "--seen", "0", "--json").stdout)
    assert told["schedule"] == {"known": True, "how": "logged to its end", "extrapolation": None}
    assert told["seen"] == [0, 0]
    true = RunStore(folder / "runs").read(["cosine-0.001-0"])[0].lr
    np.testing.assert_allclose(
        np.interp(true.steps, np.array(told["times"]) * 600, told["lr"]["centre"]), true.values, atol=4e-5
    )


def test_a_schedule_that_the_config_states_is_followed_where_it_is_what_was_logged(run, tmp_path):
    whole = toy_run("going", shape="constant", peak=1e-3)
    facts = dataclasses.replace(whole.facts, schedule="constant", peak_lr=1e-3, extra={})
    part = whole.replace(loss=whole.loss.until(200), metric=whole.metric.until(200), lr=whole.lr.until(200))
    RunStore(tmp_path / "true").add(part.replace(facts=facts, status="cut short"))
    RunStore(tmp_path / "false").add(part.replace(facts=dataclasses.replace(facts, peak_lr=5e-3), status="cut short"))
    told = json.loads(run("forecast", "f.lodestar", str(tmp_path / "true"), "--json").stdout)
    assert told["schedule"]["known"] and "constant, peak 0.001" in told["schedule"]["how"]
    told = json.loads(run("forecast", "f.lodestar", str(tmp_path / "false"), "--json").stdout)
    assert not told["schedule"]["known"] and "that is not what its config states" in told["schedule"]["how"]


def test_a_schedule_can_be_given_and_far_off_rates_are_marked(run):
    words = ("forecast", "f.lodestar", "runs", "--run", "cosine-0.001-0", "--seen", "0.3")
    done = run(*words, "--schedule", "linear:0.5")
    assert "Schedule known: as given: linear:0.5." in done.stdout
    assert "extrapolation: its peak 0.5 lies above every past run's" in " ".join(done.stdout.split())
    wrong = run(*words, "--schedule", "nonsense:1e-3")
    assert wrong.exit_code == 2 and "cosine" in wrong.stderr


def test_from_nothing_only_a_known_schedule_is_forecast(run):
    words = ("forecast", "f.lodestar", "runs", "--run", "cosine-0.001-0", "--seen", "0", "--schedule", "unknown")
    done = run(*words)
    assert done.exit_code == 2 and "only a known schedule" in " ".join(done.stderr.split())


def test_a_run_still_going_is_forecast_to_its_planned_end(run, tmp_path):
    whole = toy_run("live")
    part = whole.replace(loss=whole.loss.until(100), metric=Series.empty(), lr=whole.lr.until(100), total_steps=100)
    RunStore(tmp_path / "live").add(part)
    done = run("forecast", "f.lodestar", str(tmp_path / "live"), "--total-steps", "600", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["seen"] == [0, 10]


HURRIED = """
import importlib
from lodestar.cli import main
importlib.import_module("lodestar.fitting.ensemble")._SAVE_EVERY = 0.2  # in place of ten seconds
main()
"""


def test_ctrl_c_leaves_a_checkpoint_and_the_same_command_goes_on(folder):
    words = ["fit", "runs", "-o", "stopped.lodestar", "--updates", "1000000", *QUICK]
    command = [sys.executable, "-c", HURRIED, *words]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        checkpoint = folder / "stopped.lodestar.fit" / "member-0.ckpt"
        for _ in range(6000):
            if checkpoint.exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=600)
    assert process.returncode == 130, told
    assert "The same command goes on from here" in told
    assert checkpoint.exists()
    assert not (folder / "stopped.lodestar").exists()
