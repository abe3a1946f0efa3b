"""The live study of tuning: all who search spend the same and are judged alike; a study goes on where it stopped."""

import importlib.util
import itertools
import json

import numpy as np
import pytest

from lodestar.schedules import trapezoid
from lodestar_bench.studies import live_tune
from lodestar_bench.studies.live_ours import ours
from lodestar_bench.studies.live_rivals import SEARCHES, Found, Rig, pbt

NUMBERS = {"peak": 3e-3, "warmup": 0.1, "plateau": 0.5, "power": 1.0, "floor": 0.0}


@pytest.fixture(scope="module")
def rig() -> Rig:
    return Rig("digits-mlp")


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "NePS PriorBand"])
def test_a_search_spends_its_budget_and_no_more_than_half_a_run_beyond(rig, name):
    found = list(SEARCHES[name](rig, 0, 3))
    assert 2.5 * rig.total <= found[-1].spent <= 3.5 * rig.total
    assert all(one.spent < other.spent for one, other in itertools.pairwise(found))
    assert all(len(one.rates) == rig.total for one in found)


@pytest.mark.skipif(
    importlib.util.find_spec("neps") is None, reason="neps is not installed: pip install neural-pipeline-search"
)
def test_priorband_spends_its_budget(rig):
    found = list(SEARCHES["NePS PriorBand"](rig, 0, 3))
    assert 2.5 * rig.total <= found[-1].spent <= 3.5 * rig.total


def test_population_based_training_ends_with_the_rates_that_its_best_member_used(rig):
    [found] = pbt(rig, 0, 3)
    assert found.spent == 3 * rig.total and len(found.rates) == rig.total and np.isfinite(found.rates).all()


def test_ours_is_charged_for_its_fits(rig):
    found, facts = ours(rig, 0, 4)
    assert facts["charged"] > 0 and found.spent <= 4.6 * rig.total and len(found.rates) == rig.total


def test_a_run_here_is_the_bench_s_own(rig):
    """Five numbers are the trapezoid of that name, and the same run is made twice."""
    rates = rig.rates(NUMBERS)
    np.testing.assert_allclose(rates, trapezoid(3e-3, rig.total, warmup=0.1, plateau=0.45).rates)
    assert rig.test(rates, 5) == Rig("digits-mlp").test(rates, 5)
    one, two = rig.begin(1, float(rates[0])), rig.begin(1, float(rates[0]))
    rig.go(one, rates, rig.total)
    rig.go(two, rates, rig.look)
    assert one.done and not two.done
    assert rig.go(two, rates, rig.total) == rig.measure(one)  # in pieces or at once


def test_read_at_a_budget_is_the_best_that_was_known_then(rig):
    history = [Found(number * rig.total, worth, np.full(3, worth)) for number, worth in ((1, 0.2), (2, 0.9), (3, 0.5))]
    assert live_tune._read(history, 1, rig).worth == 0.2
    assert live_tune._read(history, 3, rig) == Found(3 * rig.total, 0.9, history[1].rates)


def test_a_study_goes_on_where_it_stopped(tmp_path, monkeypatch):
    out, made = tmp_path / "rows.jsonl", []

    def row(task, method, repeat, budgets, rig):
        for budget in budgets:
            made.append((method, repeat, budget))
            yield {"task": task, "method": method, "repeat": repeat, "budget": budget, "spent": 1.0, "tests": [0.5]}

    monkeypatch.setattr(live_tune, "carry_out", row)
    monkeypatch.setattr(live_tune, "Rig", lambda task: None)
    live_tune.work(["digits-mlp"], range(1), [5], ["random search"], out)
    out.write_text(out.read_text() + '{"task": "digits-m')  # a kill in mid-line
    live_tune.work(["digits-mlp"], range(2), [5, 10], ["random search", live_tune.OURS], out)
    assert made == [
        ("random search", 0, 5), ("random search", 0, 10), (live_tune.OURS, 0, 5), (live_tune.OURS, 0, 10),
        ("random search", 1, 5), ("random search", 1, 10), (live_tune.OURS, 1, 5), (live_tune.OURS, 1, 10),
    ]  # fmt: skip
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == len(made)


def test_the_table_pools_repeats_in_units_of_random_search():
    rng = np.random.default_rng(0)
    rows = [
        {"task": "digits-mlp", "method": method, "repeat": r, "budget": b, "tests": [0.9 + gain + rng.normal(0, 0.01)]}
        for method, gain in (("random search", 0.0), (live_tune.OURS, 0.02))
        for r in range(40)
        for b in (5, 10, 20)
    ]
    lines = live_tune.table(rows)
    pooled = next(line for line in lines if line.startswith("all: ours less random search"))
    assert 1.5 < float(pooled.split()[5]) < 2.5 and "of 120" in pooled
