"""Lodestar under test: it learns from runs, is told every update, and its decisions are kept."""

import dataclasses
import math

import numpy as np
import pytest

from lodestar.forecaster import load
from lodestar.runs import RunSet, Status
from lodestar.scheduler import DEFAULT, PAPER, Scheduler, read_log
from lodestar.schedules import Schedule, parse
from lodestar.testing.forecasters import random_forecaster
from lodestar_bench._errors import BenchError
from lodestar_bench.methods import method, names
from lodestar_bench.methods.steered import Steered
from lodestar_bench.tasks import problem
from lodestar_bench.train import train


@pytest.fixture(scope="module")
def digits():
    return problem("digits-mlp", "smoke")


@pytest.fixture(scope="module")
def learned(digits, tmp_path_factory):
    """A forecaster fitted to twelve real runs, and what was said about it."""
    shapes = [method(name) for name in ("constant", "cosine")]
    runs = [
        train(digits, shape, value, seed=seed).run
        for shape in shapes
        for value in (3e-3, 1e-2, 3e-2)
        for seed in range(2)
    ]
    path = tmp_path_factory.mktemp("learned") / "forecaster.lodestar"
    return path, method("lodestar").learn(digits, path, seed=0, runs=RunSet(runs), allowed_runs=0)


def test_it_learns_a_forecaster_from_runs(learned):
    path, told = learned
    assert load(path).facts["runs"] == 12
    assert told["runs_learned_from"] == 12 and told["training_runs"] == 0
    assert told["seconds"] > 0 and math.isfinite(told["held_out_error"])


def test_it_steers_with_what_it_learned_and_keeps_its_decisions(learned, digits):
    path, _ = learned
    outcome = train(digits, method("lodestar"), math.nan, seed=5, knowledge=path)
    log = read_log(path.parent / "decisions" / "lodestar-5.jsonl")
    assert outcome.run.status is Status.FINISHED
    assert len(log.decisions) == outcome.run.facts.extra["decisions"] == 20
    assert not log.warnings


def test_a_run_made_again_does_not_append_to_the_old_log(learned, digits):
    path, _ = learned
    for _ in range(2):
        train(digits, method("lodestar-paper"), math.nan, seed=6, knowledge=path)
    text = (path.parent / "decisions" / "lodestar-paper-6.jsonl").read_text()
    assert text.count('"kind": "start"') == 1


def test_without_runs_there_is_nothing_to_learn_from(digits, tmp_path):
    with pytest.raises(BenchError, match=r"learns from runs, and none were given\. Fix: runs="):
        method("lodestar").learn(digits, tmp_path / "f", seed=0, runs=None, allowed_runs=0)


def test_presets_differ_in_the_scheduler(learned, digits):
    path, _ = learned
    made = [
        method(name).controller(digits, math.nan, seed=0, knowledge=path) for name in ("lodestar", "lodestar-paper")
    ]
    presets = [controller.scheduler.settings for controller in made if isinstance(controller, Steered)]
    assert presets == [
        dataclasses.replace(DEFAULT, initial_plan="whole"),
        PAPER,
    ]  # what "auto" is for a job of the sweep's size


def test_the_open_loop_follows_the_first_plan_whatever_happens(learned, digits):
    path, _ = learned
    outcome = train(digits, method("lodestar-open"), math.nan, seed=7, knowledge=path)
    plan = Scheduler(path, digits.total_steps, seed=7).plan()
    wanted = [plan.lr_at(int(step)) for step in outcome.run.lr.steps]
    np.testing.assert_allclose(outcome.run.lr.values, wanted, rtol=1e-12)
    assert not (path.parent / "decisions" / "lodestar-open-7.jsonl").exists()


def test_the_default_steers_averaged_weights_and_the_others_the_recipe_s_own(digits):
    forms = {name: method(name).optimizer(digits, math.nan) for name in names() if name.startswith("lodestar")}
    assert {name: form.averaged for name, form in forms.items()} == {
        "lodestar-paper": False,
        "lodestar-plain": False,
        "lodestar-open": True,
        "lodestar-tune": False,
        "lodestar-tune-steered": False,
        "lodestar": True,
    }
    assert forms["lodestar"] is method("averaged").optimizer(digits, 0.01)


def test_every_loss_reaches_the_scheduler_and_rates_are_its_own():
    """Stretches of five updates, a point each: the same rates as a job that asks update by update."""
    forecaster = random_forecaster(seed=1, points=40)
    losses = 2 * np.exp(-np.arange(200) / 80)
    plain = Scheduler(forecaster, 200, seed=0)
    alone = []
    for step in range(1, 201):
        alone.append(plain.lr_at(step))
        plain.observe(step, loss=losses[step - 1])
    stretched = Steered(Scheduler(forecaster, 200, seed=0))
    found = []
    for first in range(1, 201, 5):
        found.extend(stretched.rates(first, 5))
        stretched.observe(first, losses[first - 1 : first + 4], None, None)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(found, alone, rtol=1e-12)
    assert [d.outcome for d in stretched.scheduler.decisions] == [d.outcome for d in plain.decisions]


def test_a_search_spends_its_budget_and_leaves_the_schedule_that_every_run_follows(digits, tmp_path):
    path = tmp_path / "learned" / "knowledge"
    path.parent.mkdir()
    told = method("lodestar-tune").learn(digits, path, seed=3, runs=None, allowed_runs=4)
    assert int(told["trials"]) >= 4 and 3.5 <= float(told["training_runs"]) <= 4.5
    outcomes = [train(digits, method("lodestar-tune"), math.nan, seed=seed, knowledge=path) for seed in (1000, 1001)]
    rates = Schedule.from_json(path).rates
    for outcome in outcomes:
        np.testing.assert_allclose(outcome.run.lr.values, rates[outcome.run.lr.steps - 1])
    assert min(digits.recipe.rates) <= rates.max() <= max(digits.recipe.rates)
    with pytest.raises(BenchError, match="none was given"):
        method("lodestar-tune-steered").controller(digits, math.nan, seed=0, knowledge=None)
    with pytest.raises(BenchError, match="none was given"):
        method("lodestar-tune").controller(digits, math.nan, seed=0, knowledge=None)


def test_a_search_that_steers_begins_with_what_it_found(digits, tmp_path):
    path = tmp_path / "learned" / "knowledge"
    path.parent.mkdir()
    steered = method("lodestar-tune-steered")
    told = steered.learn(digits, path, seed=3, runs=None, allowed_runs=6)
    assert 4.5 <= float(told["training_runs"]) <= 5.5 and int(told["runs_learned_from"]) == int(told["trials"])
    outcome = train(digits, steered, math.nan, seed=1000, knowledge=path)
    found = parse(path.with_name("knowledge.plan").read_text(), digits.total_steps).rates
    early = outcome.run.lr.steps <= digits.total_steps // 25  # before the first decision
    np.testing.assert_allclose(outcome.run.lr.values[early], found[outcome.run.lr.steps[early] - 1], rtol=0.2)
    assert int(outcome.run.facts.extra["decisions"]) > 5
