"""The simple forecasters: hand-computed cases, and what all of them must do."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curves import toy_run

from lodestar._errors import PrepareError
from lodestar.evaluate.simple import SIMPLE, LastValue, NearestRun, PowerLaw
from lodestar.evaluate.simple.power_law import fit_law
from lodestar.fitting.dataset import prepare
from lodestar.forecaster.forecast import Context
from lodestar.testing import random_forecaster

RECIPE = random_forecaster(seed=0, points=60).recipe


def past():
    return prepare([toy_run(f"{shape}", shape) for shape in ("constant", "cosine", "onecycle")], recipe=RECIPE)


def beginning(stop: int, run: int = 0) -> Context:
    data = past()
    return Context(data.values[run, :stop], data.mask[run, :stop], 0)


@pytest.mark.parametrize("kind", SIMPLE)
def test_what_was_seen_is_returned_as_seen(kind):
    context = beginning(10)
    made = kind.fit(RECIPE, past()).forecast(context)
    assert made.shape == (60, 3)
    assert np.isfinite(made).all()
    np.testing.assert_allclose(made[:10], RECIPE.normaliser.inverse(context.values))


@pytest.mark.parametrize("kind", [LastValue, PowerLaw])
def test_a_channel_never_seen_is_not_guessed(kind):
    context = beginning(10)
    mask = context.mask.copy()
    mask[:, 1] = False
    made = kind.fit(RECIPE, None).forecast(Context(context.values, mask, 0))
    assert np.isnan(made[:, 1]).all()
    assert np.isfinite(made[:, [0, 2]]).all()


def test_last_value_is_that_of_each_channel():
    context = beginning(10)
    mask = context.mask.copy()
    mask[7:, 1] = False
    made = LastValue.fit(RECIPE, None).forecast(Context(context.values, mask, 0))
    seen = RECIPE.normaliser.inverse(context.values)
    np.testing.assert_allclose(made[10:], np.broadcast_to([seen[9, 0], seen[6, 1], seen[9, 2]], (50, 3)))


@given(a=st.floats(0.0, 2.0), b=st.floats(0.05, 2.0), c=st.floats(0.1, 2.5), sign=st.sampled_from([1, -1]))
def test_a_power_law_is_found_again(a, b, c, sign):
    t = np.arange(1, 21) / 60
    y = sign * (a + b * t**-c)
    low, high, power = fit_law(t, y, floored=False)
    np.testing.assert_allclose(low + high * t**-power, y, atol=1e-3 * np.ptp(y))


def test_a_loss_has_a_floor():
    t = np.arange(1, 21) / 60
    a, b, _ = fit_law(t, 1.0 - t, floored=True)
    assert a == 0
    assert b > 0
    assert fit_law(t, 1.0 - t, floored=False)[0] < 0


def test_three_points_are_too_few_for_a_law():
    context = beginning(3)
    held = LastValue.fit(RECIPE, None).forecast(context)
    np.testing.assert_array_equal(PowerLaw.fit(RECIPE, None).forecast(context), held)


def test_a_run_that_follows_a_law_is_forecast_to_its_end():
    t = np.arange(1, 61) / 60
    truth = np.stack([0.3 + 0.4 * t**-0.5, 0.7 - 0.1 * t**-0.4, np.full(60, 1e-3)], axis=-1)
    context = Context(RECIPE.normaliser.forward(truth)[:12], np.ones((12, 3), bool), 0)
    np.testing.assert_allclose(PowerLaw.fit(RECIPE, None).forecast(context), truth, rtol=1e-3)


def test_the_nearest_run_of_a_copy_is_the_original():
    data = past()
    for run in range(3):
        nearest = dataclasses.replace(NearestRun.fit(RECIPE, data), shift=False)
        made = nearest.forecast(Context(data.values[run, :15], data.mask[run, :15], 0))
        np.testing.assert_allclose(made, RECIPE.normaliser.inverse(data.values[run]))


def test_a_hidden_run_is_never_chosen():
    assert NearestRun.fit(RECIPE, past()).nearest(beginning(15)) == 0
    assert NearestRun.fit(RECIPE, past(), frozenset(["constant"])).nearest(beginning(15)) != 0


def test_nothing_in_common_is_no_neighbour():
    context = beginning(15)
    blank = Context(context.values, np.zeros_like(context.mask), 0)
    assert np.isnan(NearestRun.fit(RECIPE, past()).forecast(blank)).all()


def test_a_shift_meets_the_last_value_and_leaves_the_rate():
    data = past()
    moved = Context(data.values[2, :15] + [0.3, -0.2, 0.1], data.mask[2, :15], 0)
    nearest = dataclasses.replace(NearestRun.fit(RECIPE, data), shift=True)
    made = RECIPE.normaliser.forward(nearest.forecast(moved))
    np.testing.assert_allclose(made[15:] - data.values[2, 15:], np.broadcast_to([0.3, -0.2, 0.0], (45, 3)), atol=1e-6)


@pytest.mark.parametrize("apart", [True, False])
def test_the_past_says_whether_to_shift(apart):
    """Runs that keep their distance are forecast better with a shift; runs that meet again in the end are not."""
    data = past()
    away = np.linspace(0, 0.5, 6)[:, None, None] * np.array([1.0, 1.0, 0.0])
    fade = 1.0 if apart else (np.arange(60) < 15)[None, :, None]
    values = np.broadcast_to(data.values[:1], (6, 60, 3)) + away * fade
    many = dataclasses.replace(data, names=tuple("abcdef"), values=values, mask=np.ones((6, 60, 3), bool))
    nearest = NearestRun.fit(RECIPE, many)
    nearest.forecast(Context(values[2, :15] + 0.01, many.mask[2, :15], 0))
    assert nearest._helps == {(0, 15): apart}


def test_no_past_run_is_an_error_with_a_cure():
    with pytest.raises(PrepareError, match=r"all of the 3 past runs are under test.*--against"):
        NearestRun.fit(RECIPE, past(), frozenset(["constant", "cosine", "onecycle"]))
