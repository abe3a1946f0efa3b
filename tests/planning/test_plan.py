"""The plan: better than what it was chosen from, of the right length, told in words."""

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, expected_loss, responding_forecaster, run_of

from lodestar.forecaster.known_schedules import judge
from lodestar.planning import candidates, plan
from lodestar.planning.plan import to_schedule
from lodestar.planning.words import describe
from lodestar.runs import Direction
from lodestar.schedules import FAMILIES


@pytest.fixture(scope="module")
def made():
    return plan(responding_forecaster(), TOTAL)


def test_the_plan_ends_better_than_nearly_every_schedule_it_was_chosen_from(made):
    forecaster = responding_forecaster()
    loss = expected_loss(made.schedule.rates)[-1]
    all_losses = [expected_loss(to_schedule(rates, TOTAL).rates)[-1] for rates in candidates(forecaster).rates[::10]]
    assert np.mean(np.array(all_losses) < loss) < 0.05


def test_a_metric_to_be_minimised_is_minimised():
    forecaster = responding_forecaster(24, Direction.MIN)
    found = plan(forecaster, TOTAL)
    others = judge(forecaster, candidates(forecaster).rates)
    assert found.forecast.final_metric[0] <= np.quantile(others.centre, 0.05)


def test_rates_are_for_every_step_and_within_what_past_runs_used(made):
    low, high = responding_forecaster().facts["peak_lr"]
    assert len(made.schedule) == TOTAL
    assert low * 0.99 <= made.schedule.peak <= high * 1.01 and not made.extrapolates
    assert made.peaks[0] <= made.schedule.peak * 1.02 and made.peaks[1] >= made.schedule.peak * 0.98


def test_it_stands_beside_the_best_past_run_and_the_best_family(made):
    assert made.best_past is not None and made.best_past.name.startswith("run-")
    assert made.best_family.name.split(":")[0] in FAMILIES
    lower, upper = made.forecast.final_metric[1:]
    assert lower < made.forecast.final_metric[0] < upper
    assert made.luck > 0


def test_the_rest_of_a_run_is_planned_from_where_it_stands():
    forecaster, run = responding_forecaster(), run_of(drawn(400), 400)
    context = forecaster.context_of(run, 0.5)
    found = plan(forecaster, TOTAL, context)
    kept = judge(forecaster, drawn(400).rates[None], context)
    assert judge(forecaster, found.schedule.rates[None], context).merit[0] >= kept.merit[0]


def test_the_same_seed_plans_the_same(made):
    assert plan(responding_forecaster(), TOTAL).schedule == made.schedule


@pytest.mark.parametrize("total", [1, 2, 7, 99, 100, 101, 1234])
def test_a_plan_for_any_length(total):
    rates = drawn(3, 100).rates
    schedule = to_schedule(rates, total)
    assert len(schedule) == total
    assert np.all(np.isfinite(schedule.rates)) and np.all(schedule.rates >= 0)
    assert schedule.peak <= rates.max() * 1.01


def test_a_length_of_nought_is_refused():
    with pytest.raises(ValueError, match="total_steps must be at least 1, got 0"):
        plan(responding_forecaster(), 0)


def test_words_for_a_schedule():
    wsd = FAMILIES["wsd"](3e-3, 100, warmup=0.1, decay=0.3).rates
    assert describe(wsd) == "like wsd: 9% warm-up, peak 0.003, falls from 71% of the run to 3% of the peak"
    assert describe(np.full(100, 1e-3)) == "like constant: no warm-up, peak 0.001, stays there"
