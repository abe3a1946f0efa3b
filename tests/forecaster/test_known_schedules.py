"""Forecasts of known schedules through a forecaster: user's units, files, and what is refused."""

import dataclasses

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, responding_forecaster, run_of

from lodestar._errors import ForecasterError
from lodestar.forecaster import load
from lodestar.forecaster.known_schedules import judge, what_if
from lodestar.testing import random_forecaster


def test_a_forecast_passes_through_what_was_measured():
    forecaster, run = responding_forecaster(), run_of(drawn(200), 200)
    context = forecaster.context_of(run, 0.4)
    found = what_if(forecaster, drawn(200).rates, context)
    seen = np.flatnonzero(context.mask[:, 1])
    measured = forecaster.recipe.normaliser.metric.inverse(context.values[seen, 1])
    assert found.metric.centre[seen] == pytest.approx(measured)
    assert np.all(found.metric.upper[: context.stop] == pytest.approx(found.metric.lower[: context.stop]))
    assert np.all(found.metric.upper[context.stop + 2 :] > found.metric.lower[context.stop + 2 :])


def test_intervals_do_not_widen_and_narrow_between_validations():
    forecaster = responding_forecaster()
    found = what_if(forecaster, drawn(201).rates, forecaster.context_of(run_of(drawn(201), 201), 0.3))
    units = forecaster.recipe.normaliser.metric
    width = units.forward(found.metric.upper) - units.forward(found.metric.lower)
    turns = np.diff(np.sign(np.diff(width[found.seen[1] + 2 :]).round(9)))
    assert np.count_nonzero(turns) <= 4


def test_the_end_of_the_curve_is_the_judgement():
    forecaster, rates = responding_forecaster(), drawn(202).rates
    judged, curve = judge(forecaster, rates[None]), what_if(forecaster, rates)
    assert curve.final_metric == pytest.approx((judged.centre[0], judged.lower[0], judged.upper[0]))
    assert curve.lr.centre.max() == pytest.approx(rates.max(), rel=0.05)


def test_what_was_really_done_replaces_the_past_of_a_schedule():
    forecaster, run = responding_forecaster(), run_of(drawn(203), 203)
    context = forecaster.context_of(run, 0.5)
    invented = drawn(203).rates.copy()
    invented[: TOTAL // 2 - 8] = 1e-5
    one, other = judge(forecaster, drawn(203).rates[None], context), judge(forecaster, invented[None], context)
    assert one.centre == pytest.approx(other.centre, rel=2e-3)


def test_a_file_keeps_the_response(tmp_path):
    forecaster, rates = responding_forecaster(), np.stack([drawn(seed).rates for seed in range(300, 310)])
    forecaster.save(tmp_path / "f.lodestar")
    again = load(tmp_path / "f.lodestar")
    assert np.array_equal(judge(again, rates).centre, judge(forecaster, rates).centre)
    assert np.array_equal(judge(again, rates).upper, judge(forecaster, rates).upper)


def test_a_forecaster_without_a_response_says_so(tmp_path):
    random_forecaster(seed=0).save(tmp_path / "old.lodestar")
    old = load(tmp_path / "old.lodestar")
    assert old.response is None
    with pytest.raises(ForecasterError, match=r"cannot forecast known schedules.*Fix: lodestar fit"):
        judge(old, np.ones((1, 10)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-3])
def test_a_rate_that_is_none_is_refused(bad):
    rates = np.full((1, 50), 1e-3)
    rates[0, 7] = bad
    with pytest.raises(ValueError, match=r"finite numbers >= 0.* at entry 7"):
        judge(responding_forecaster(), rates)


def test_a_rate_of_zero_throughout_and_a_late_context_are_refused():
    forecaster = responding_forecaster()
    with pytest.raises(ValueError, match="zero throughout"):
        judge(forecaster, np.zeros((1, 50)))
    context = forecaster.context_of(run_of(drawn(1), 1), 0.5)
    with pytest.raises(ValueError, match="first point"):
        judge(forecaster, drawn(1).rates[None], dataclasses.replace(context, start=3))


def test_forecasts_are_finite_for_any_schedule():
    forecaster = responding_forecaster()
    rng = np.random.default_rng(0)
    wild = 10.0 ** rng.uniform(-12, 2, (40, 60)) * (rng.uniform(size=(40, 60)) > 0.3)
    wild[:, 0] = 1e-4
    judged = judge(forecaster, wild)
    for part in (judged.centre, judged.lower, judged.upper, judged.merit):
        assert np.all(np.isfinite(part))
