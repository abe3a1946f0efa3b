"""Schedules by shape: hand-computed values, and what holds for all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.schedules import (
    FAMILIES,
    Schedule,
    constant,
    cosine,
    exponential,
    find,
    inverse_sqrt,
    linear,
    onecycle,
    polynomial,
    step,
    trapezoid,
    wsd,
)


@pytest.mark.parametrize("name", FAMILIES)
@settings(deadline=None)
@given(peak=st.floats(1e-6, 10), steps=st.integers(1, 500))
def test_every_shape_has_a_rate_for_each_update_and_stays_below_its_peak(name, peak, steps):
    schedule = FAMILIES[name](peak, steps)
    assert schedule.name == name
    assert len(schedule) == steps
    assert schedule.peak <= peak * (1 + 1e-9)


def test_steps_count_from_one_and_the_ends_hold():
    schedule = Schedule("three", [0.3, 0.2, 0.1])
    assert [schedule(step) for step in (-5, 0, 1, 2, 3, 4)] == [0.3, 0.3, 0.3, 0.2, 0.1, 0.1]


def test_cosine_and_step_decay_by_hand():
    assert np.allclose(cosine(1.0, 4).rates, [1, 0.5 + np.sqrt(0.125), 0.5, 0.5 - np.sqrt(0.125)])
    assert np.allclose(step(0.8, 6).rates, [0.8, 0.8, 0.4, 0.4, 0.2, 0.2])


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
    rates = wsd(1.0, 100).rates
    assert rates[79] == pytest.approx(1.0)
    assert rates[90] == pytest.approx(0.5)


@pytest.mark.parametrize("rates", [[], [1, -1], [float("nan")], [[1, 2]]])
def test_bad_rates_are_refused(rates):
    with pytest.raises(ValueError, match="schedule 'odd'"):
        Schedule("odd", rates)


def test_new_families_by_hand():
    assert np.allclose(exponential(1.0, 2, floor=0.25).rates, [1, 0.5])
    assert np.allclose(polynomial(1.0, 4, power=2).rates, [1, 0.5625, 0.25, 0.0625])
    assert np.allclose(inverse_sqrt(1.0, 10, warmup=0.2).rates[[0, 1, 2, 8]], [0.5, 1, 1, 0.5])
    assert np.allclose(step(1.0, 8, gamma=0.1, stages=2, warmup=0.5).rates, [0.25, 0.5, 0.75, 1, 1, 1, 0.1, 0.1])


def test_a_warm_up_comes_before_any_family_that_has_one():
    for family in FAMILIES.values():
        if "warmup" in family.defaults:
            rates = family(1.0, 100, warmup=0.2).rates
            assert np.allclose(rates[:20], np.arange(1, 21) / 20), family.name


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("one-cycle", onecycle),
        ("OneCycleLR", onecycle),
        ("warm-up, linear", linear),
        ("warm-up, cosine", cosine),
        ("warm-up, constant", constant),
        ("warm-up, step", step),
        ("hold, then decay", wsd),
        ("inverse square root", inverse_sqrt),
        ("linear_with_warmup", linear),
        ("CosineAnnealingLR", cosine),
        ("mystery", None),
    ],
)
def test_names_of_release_one_and_of_other_libraries_are_understood(name, family):
    assert find(name) is family


def test_no_name_means_two_families():
    names = [name for family in FAMILIES.values() for name in (family.name, *family.aliases)]
    assert all(find(name) is family for family in FAMILIES.values() for name in (family.name, *family.aliases))
    assert len(set(names)) == len(names)
