"""Schedules by shape: hand-computed values, and what holds for all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.schedules.families import cosine, onecycle, step_decay, trapezoid, warmup_stable_decay
from lodestar.sweep import SHAPES, Schedule


@pytest.mark.parametrize("name", SHAPES)
@settings(deadline=None)
@given(peak=st.floats(1e-6, 10), steps=st.integers(1, 500))
def test_every_shape_has_a_rate_for_each_update_and_stays_below_its_peak(name, peak, steps):
    schedule = SHAPES[name](peak, steps)
    assert schedule.name == name
    assert len(schedule) == steps
    assert schedule.peak <= peak * (1 + 1e-9)


def test_steps_count_from_one_and_the_ends_hold():
    schedule = Schedule("three", [0.3, 0.2, 0.1])
    assert [schedule(step) for step in (-5, 0, 1, 2, 3, 4)] == [0.3, 0.3, 0.3, 0.2, 0.1, 0.1]


def test_cosine_and_step_decay_by_hand():
    assert np.allclose(cosine(1.0, 4).rates, [1, 0.5 + np.sqrt(0.125), 0.5, 0.5 - np.sqrt(0.125)])
    assert np.allclose(step_decay(0.8, 6).rates, [0.8, 0.8, 0.4, 0.4, 0.2, 0.2])


def test_onecycle_rises_from_a_25th_and_falls_to_almost_nothing():
    rates = onecycle(0.1, 1000).rates
    assert rates[0] == pytest.approx(0.004)
    assert rates[150] == pytest.approx((0.1 + 0.004) / 2)
    assert rates.argmax() == 300 and rates[300] == pytest.approx(0.1)
    assert rates[-1] == pytest.approx(0.1 / 25 / 1e4, abs=1e-6)


def test_a_trapezoid_warms_up_holds_and_decays_to_its_floor():
    rates = trapezoid(1.0, 100, warmup=0.1, plateau=0.4, power=1.0, floor=0.2).rates
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == pytest.approx(1.0)
    assert np.allclose(rates[9:50], 1.0)
    assert rates[75] == pytest.approx(0.6)
    assert rates.min() == pytest.approx(0.1)
    assert rates[-1] == pytest.approx(0.2 + 0.8 * 0.02)


def test_wsd_decays_in_the_last_fifth():
    rates = warmup_stable_decay(1.0, 100).rates
    assert rates[79] == pytest.approx(1.0)
    assert rates[90] == pytest.approx(0.5)


@pytest.mark.parametrize("rates", [[], [1, -1], [float("nan")], [[1, 2]]])
def test_bad_rates_are_refused(rates):
    with pytest.raises(ValueError, match="schedule 'odd'"):
        Schedule("odd", rates)
