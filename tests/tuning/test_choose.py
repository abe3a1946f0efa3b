"""The schedule that a tuning ends with, and how runs are read for it."""

import math

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, run_of, runs

from lodestar.runs import Direction, Facts, Series, Status
from lodestar.schedules import parse, trapezoid
from lodestar.sweep import QuasiRandom, Range
from lodestar.tuning.choose import CELLS, candidates, choose, draw, numbers_at, read_tried, schedule_of
from lodestar.tuning.propose import propose

SPACE = QuasiRandom(peak=Range(3e-4, 1e-2, log=True))


def without_luck(schedule) -> float:
    return run_of(schedule, 0, luck=0.0).final_metric


@pytest.mark.parametrize("direction", list(Direction))
def test_after_eight_proposals_the_choice_ends_better_than_all_that_were_tried_before(direction):
    past = runs(12, direction=direction)
    for number in range(12, 20):
        found = propose(past, SPACE, 1, TOTAL, number=number, seed=1)
        assert found is not None and found.trials[0].schedule is not None
        past.append(run_of(found.trials[0].schedule, number, direction=direction, name=found.trials[0].name))
    choice = choose(past, SPACE, TOTAL, seed=1, most=1e-2)
    assert choice is not None and len(choice.schedule) == TOTAL
    end = run_of(choice.schedule, 0, luck=0.0, direction=direction).final_metric
    assert all(
        direction.better(end, run_of(drawn(s), 0, luck=0.0, direction=direction).final_metric) for s in range(12)
    )
    assert choice.lower < end < choice.upper and choice.lower < choice.final < choice.upper


def test_the_choice_keeps_below_the_highest_rate_allowed():
    choice = choose(runs(12), SPACE, TOTAL, seed=0, most=1e-3)
    assert choice is not None and choice.schedule.peak <= 1e-3 * (1 + 1e-6)


def test_with_too_few_runs_for_a_surface_the_best_one_is_followed_again():
    past = runs(2)
    best = max(past, key=lambda run: run.final_metric)
    choice = choose(past, SPACE, TOTAL, seed=0, most=1e-2)
    assert choice is not None and choice.name == best.name and choice.final == best.final_metric
    assert (choice.lower, choice.upper) == (-math.inf, math.inf)
    np.testing.assert_allclose(
        choice.schedule.rates, drawn(past.index(best)).rates, rtol=0.1, atol=1e-4
    )  # logged every 4 steps


def test_the_words_for_a_choice_draw_its_schedule():
    shape = {"warmup": 0.1, "plateau": 0.4, "power": 1.5, "floor": 0.01}
    past = [run.replace(facts=Facts(peak_lr=3e-3, extra=shape)) for run in runs(2)]
    tried, new = choose(past, SPACE, TOTAL, seed=0, most=1e-2), choose(runs(12), SPACE, TOTAL, seed=0, most=1e-3)
    assert tried is not None and tried.name is not None
    assert tried.words == "trapezoid:0.003:warmup=0.1:plateau=0.4:power=1.5:floor=0.01"
    np.testing.assert_allclose(parse(tried.words, TOTAL).rates, tried.schedule.rates)
    assert new is not None and new.name is None
    np.testing.assert_allclose(parse(new.words, TOTAL).rates, new.schedule.rates)


def test_where_no_run_finished_there_is_no_choice():
    lost = [run.replace(status=Status.DIVERGED) for run in runs(5)]
    assert choose(lost, SPACE, TOTAL, seed=0, most=1e-2) is None


def test_a_run_that_was_stopped_is_no_better_than_the_middle_and_doubted_one_that_diverged_is_the_worst():
    past = runs(9)
    best = max(range(9), key=lambda place: past[place].final_metric)
    names = [run.name for run in past]
    cut = [run.replace(status=Status.CUT_SHORT) if place == best else run for place, run in enumerate(past)]
    for changed, status in (
        (cut, "stopped"),
        ([r.replace(status=Status.DIVERGED) if i == best else r for i, r in enumerate(past)], "lost"),
    ):
        whole, told = read_tried(past), read_tried(changed)
        assert whole is not None and told is not None and told.names == tuple(names)
        rates = whole.rates[best : best + 1]
        drop = whole.surface(rates)[0] - told.surface(rates)[0]
        assert drop[0] > 0, status


def test_a_schedule_is_read_from_its_numbers_and_else_from_the_rates_as_logged():
    run = run_of(trapezoid(3e-3, TOTAL, warmup=0.1, plateau=0.4, power=1.5, floor=0.01), 0)
    shape = {"warmup": 0.1, "plateau": 0.4, "power": 1.5, "floor": 0.01}
    told = run.replace(facts=Facts(peak_lr=3e-3, extra=shape))
    logged, drawn_anew = schedule_of(run), schedule_of(told)
    assert logged is not None and drawn_anew is not None
    np.testing.assert_allclose(logged, drawn_anew, rtol=0.03, atol=2e-5)
    early = run.replace(lr=Series(run.lr.steps[:50], run.lr.values[:50]))
    assert schedule_of(early) is None  # nobody knows how it would have gone on


def test_candidates_are_drawn_as_the_family_draws_them():
    points, rates = candidates(SPACE, 3)
    for place in (0, 17, 400):
        numbers = numbers_at(SPACE, points[place])
        family = trapezoid(numbers.pop("peak"), 40 * CELLS, **numbers).rates.reshape(CELLS, -1).mean(axis=1)
        np.testing.assert_allclose(rates[place], family, rtol=0.05, atol=0.01 * family.max())


def test_draw_takes_many_at_once():
    ones = np.ones(3)
    found = draw(1e-3 * ones, 0.0 * ones, 0.5 * ones, ones, 0.1 * ones)
    assert found.shape == (3, CELLS) and found[0, 0] == pytest.approx(1e-3)
    assert found[0, -1] == pytest.approx(1e-4, rel=0.2)
