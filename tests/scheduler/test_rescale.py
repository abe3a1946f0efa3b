"""Rescaling: a job to which a rate means more, or less, than to the past runs is found out and its plan scaled."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import qmc
from tests.fitted_once import fitted_once

from lodestar import fit
from lodestar.forecaster import Context
from lodestar.forecaster.misfit import HELD_OUT_UNLIKE
from lodestar.forecaster.preprocessing.normaliser import LOSS
from lodestar.forecaster.scale_law import Quantity, ScaleLaw
from lodestar.runs import Direction, Run, Series
from lodestar.scheduler import Outcome, Scheduler
from lodestar.scheduler.steps import rescale
from lodestar.scheduler.steps.rescale import FIRST, find_rescale
from lodestar.schedules import trapezoid
from lodestar.testing import random_forecaster

STEPS = 400
AT = np.arange(4, STEPS + 1, 4)


def outcome(rates, speed, shift, rng):
    """Loss and metric under some rates: down by speed x the rates' sum, up by the rate, spoilt by the highest so far.

    `shift` better throughout.
    """
    felt = speed * np.asarray(rates)
    spoilt = 4 * np.maximum.accumulate(np.maximum(felt - 0.06, 0.0))
    loss = (0.4 + 2.0 * np.exp(-60 * np.cumsum(felt) / STEPS) + 4 * felt + spoilt) * math.exp(-shift)
    loss = loss * np.exp(0.02 * rng.standard_normal(STEPS))
    return loss, 0.9 * np.exp(-0.4 * loss) + 0.002 * rng.standard_normal(STEPS)


def past_run(number, peak, warmup, power):
    rates = trapezoid(peak, STEPS, warmup=warmup, power=power).rates
    loss, metric = outcome(rates, 1.0, 0.0, np.random.default_rng(number))
    return Run(
        name=f"run-{number}",
        loss=Series(AT, loss[AT - 1]),
        metric=Series(AT, metric[AT - 1]),
        lr=Series(AT, rates[AT - 1]),
        direction=Direction.MAX,
        total_steps=STEPS,
    )


@pytest.fixture(scope="module")
def forecaster():
    """Fitted to 40 runs of the made-up job."""
    return fitted_once(Path(__file__), "forecaster", fitted)


def fitted():
    drawn = qmc.Sobol(3, seed=0).random(64)[:40]  # pyright: ignore
    runs = [past_run(i, 0.01 * 30**a, 0.05 + 0.2 * b, 0.5 + 2 * c) for i, (a, b, c) in enumerate(drawn)]
    return fit(runs, seed=0, updates=1000, members=1, check_every=500, response=False)


def job(forecaster, speed, shift, **settings):
    """A whole steered run of a job."""
    one, rng = Scheduler(forecaster, STEPS, seed=1, **settings), np.random.default_rng(99)
    rates: list[float] = []
    for step in range(1, STEPS + 1):
        rates.append(one.lr_at(step))
        loss, metric = outcome(
            [*rates, *np.zeros(STEPS - step)], speed, shift, np.random.default_rng(rng.integers(10**9))
        )
        one.observe(step, loss=loss[step - 1], metric=metric[step - 1] if step % 4 == 0 else None)
    return one


@pytest.mark.parametrize(("placed", "by", "done"), [(False, "law", False), (True, "law", True), (False, "run", True)])
def test_only_a_job_that_the_law_over_sizes_has_placed_is_rescaled_unless_asked(forecaster, placed, by, done):
    known = dataclasses.replace(forecaster, placed=placed, rate_doubt=2.0, level_doubt=0.1)
    one = job(known, 2.5, 0.5, rescale_by=by, hysteresis=1e6)
    assert (Outcome.RESCALED in {decision.outcome for decision in one.decisions}) == done


def test_a_job_like_the_past_runs_is_not_rescaled(forecaster):
    one = job(forecaster, 1.0, 0.0, rescale_by="run")
    assert one.warnings == []
    assert all(decision.outcome is not Outcome.RESCALED for decision in one.decisions)


def test_no_job_counts_as_unlike_that_is_forecast_as_well_as_a_run_held_out_by_the_fit(forecaster):
    """The runs that a forecaster learned from are forecast too well to tell what is unusual."""
    rates = trapezoid(0.03, STEPS, warmup=0.1).rates
    loss, metric = outcome(rates, 2.5, 0.3, np.random.default_rng(3))
    live = forecaster.recipe.to_points(*(Series(AT, part[AT - 1]) for part in (loss, metric, rates)), STEPS)
    seen = round(0.2 * forecaster.points)
    measured = forecaster.quality[HELD_OUT_UNLIKE]
    assert 0.5 < measured < 100.0
    found = []
    for worst in (0.0, 1e6):
        quality = {**forecaster.quality, HELD_OUT_UNLIKE: worst}
        one = find_rescale(dataclasses.replace(forecaster, quality=quality), live, seen, 8.0, 0.0)
        assert one is not None
        found.append(one)
    assert found[0].factor > 1.2 and found[1].factor == 1.0
    assert found[0].unlike == found[1].unlike


@pytest.mark.parametrize(("speed", "low", "high"), [(2.5, 1.2, 4.0), (0.4, 0.2, 0.8)])
def test_the_factor_says_how_much_more_or_less_a_rate_does(forecaster, speed, low, high):
    rates = trapezoid(0.03, STEPS, warmup=0.1).rates
    loss, metric = outcome(rates, speed, 0.3, np.random.default_rng(3))
    series = (Series(AT, part[AT - 1]) for part in (loss, metric, rates))
    live = forecaster.recipe.to_points(*series, STEPS)
    found = find_rescale(forecaster, live, round(0.3 * forecaster.points), 8.0, 4.0)
    assert found is not None
    assert low < found.factor < high


def test_a_rescaling_is_recorded_and_scales_the_plan(forecaster):
    plain, rescaled = (
        job(forecaster, 2.5, 0.5, rescale=most, rescale_by="run", hysteresis=1e6, spike=None) for most in (None, 8.0)
    )
    first = next(decision for decision in rescaled.decisions if decision.outcome is Outcome.RESCALED)
    assert first.step >= FIRST * STEPS
    assert "divided by" in first.note
    step = first.step + 1
    assert first.first_lr == rescaled.followed().lr_at(step)
    by = float(first.note.split("divided by ")[1].split(";")[0])
    assert plain.followed().lr_at(step) / rescaled.followed().lr_at(step) == pytest.approx(by, rel=0.05)


def test_a_rescaling_survives_a_checkpoint(forecaster):
    def half(one, first, last):
        rng = np.random.default_rng(5)
        for step in range(first, last + 1):
            one.lr_at(step)
            one.observe(step, loss=math.exp(-step / 40) + 0.2, metric=0.5 + 0.001 * step + 0.001 * rng.random())
        return one

    first = half(Scheduler(forecaster, STEPS, unlike=0.0, rescale_by="run", gate=None), 1, 130)
    assert first.state_dict()["gears"]
    again = Scheduler(forecaster, STEPS, unlike=0.0, rescale_by="run", gate=None)
    again.load_state_dict(first.state_dict())
    assert again.plan() == first.plan()
    assert half(first, 131, 200).plan() == half(again, 131, 200).plan()


def test_a_state_from_before_there_was_rescaling_is_read(forecaster):
    saved = Scheduler(forecaster, STEPS).state_dict()
    for name in ("gear", "gears"):
        del saved[name]
    one = Scheduler(forecaster, STEPS)
    one.load_state_dict(saved)
    assert one.plan() == Scheduler(forecaster, STEPS).plan()


def test_the_metric_is_needed(forecaster):
    one = Scheduler(forecaster, STEPS, unlike=0.0, gate=None)
    for step in range(1, 200):
        one.lr_at(step)
        one.observe(step, loss=5.0)
    assert all(decision.outcome is not Outcome.RESCALED for decision in one.decisions)
    assert not any("rescaling" in text for text in one.warnings)


def test_nothing_is_found_in_forecasts_that_are_not_finite():
    forecaster = random_forecaster(seed=1, points=40)
    live = forecaster.recipe.to_points(
        Series(AT, np.full(len(AT), 1.0)), Series(AT, np.full(len(AT), 0.5)), Series(AT, np.full(len(AT), 1e-3)), STEPS
    )
    live.values[:8, 0] = np.nan
    with np.errstate(all="ignore"):
        assert find_rescale(forecaster, live, 8, 8.0, 0.0) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [({"rescale": 1.0}, "above 1"), ({"unlike": -1.0}, "negative"), ({"initial_plan": "last"}, "initial_plan")],
)
def test_settings_out_of_range_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Scheduler(random_forecaster(seed=0, points=20), 100, **change)


def test_losses_that_past_runs_logged_late_do_not_make_a_job_unlike_them(forecaster, monkeypatch):
    """A past run's own curves, its losses two points early, as a job that tells every update would see them."""
    run = past_run(7, 0.05, 0.1, 1.0)
    early = Series(np.maximum(run.loss.steps - 8, 1)[2:], run.loss.values[2:])
    live = forecaster.recipe.to_points(early, run.metric, run.lr, STEPS)
    seen = round(0.2 * forecaster.points)
    found = []
    for lag in (0, 2):
        monkeypatch.setattr(rescale, "_most_lag", lambda past, lag=lag: lag)
        one = find_rescale(forecaster, live, seen, 8.0, 4.0)
        assert one is not None
        found.append(one.unlike)
    assert found[1] < 0.5 * found[0]


@pytest.mark.parametrize(("logged", "lag"), [(1.0, 0), (0.98, 1), (0.5, 1), (0.3, 3), (0.05, 4)])
def test_a_loss_may_be_as_late_as_logs_are_rare(logged, lag):
    mask = np.zeros((100, 3), dtype=bool)
    mask[: round(100 * logged), LOSS] = True
    assert rescale._most_lag([Context(np.zeros((100, 3)), mask, 0)]) == lag


def test_a_job_placed_by_the_law_over_sizes_is_corrected_by_no_more_than_the_law_leaves_open(forecaster):
    rates = trapezoid(0.03, STEPS, warmup=0.1).rates
    loss, metric = outcome(rates, 2.5, 0.3, np.random.default_rng(3))
    live = forecaster.recipe.to_points(*(Series(AT, part[AT - 1]) for part in (loss, metric, rates)), STEPS)
    seen = round(0.3 * forecaster.points)
    factors = {}
    for doubt in (0.05, 0.2, None):
        placed = {} if doubt is None else {"placed": True, "rate_doubt": doubt}
        one = find_rescale(dataclasses.replace(forecaster, **placed), live, seen, 8.0, 0.0)
        assert one is not None
        factors[doubt] = one.factor
    assert 1.0 < factors[0.05] <= math.exp(1.2816 * 0.05) + 1e-9
    assert factors[0.05] < factors[0.2] <= math.exp(1.2816 * 0.2) + 1e-9
    assert factors[None] > factors[0.2]


def test_a_level_that_the_law_leaves_open_does_not_make_a_job_unlike(forecaster):
    law = ScaleLaw((Quantity("width", 1.0, 0.5, 2.0, 3, 0.5, 0.1, (0.1, 0.1)),), (1.0, 0.1))
    rates = trapezoid(0.03, STEPS, warmup=0.1).rates
    loss, metric = outcome(rates, 1.0, 0.4, np.random.default_rng(3))
    live = forecaster.recipe.to_points(*(Series(AT, part[AT - 1]) for part in (loss, metric, rates)), STEPS)
    unlike = []
    for doubt in (0.0, 0.3):
        one = find_rescale(
            dataclasses.replace(forecaster, law=law, level_doubt=doubt), live, round(0.2 * forecaster.points), 8.0, 0.0
        )
        assert one is not None
        unlike.append(one.unlike)
    assert unlike[1] < 0.5 * unlike[0]
