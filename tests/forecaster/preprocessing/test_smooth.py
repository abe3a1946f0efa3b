import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from lodestar.forecaster.preprocessing.smooth import smooth


def test_equals_a_plain_loop_with_gaps():
    rng = np.random.default_rng(0)
    values, mask = rng.normal(size=50), rng.random(50) < 0.6
    decay = 1 - 2 / (5 + 1)
    total = weight = 0.0
    expected = np.zeros(50)
    for i in range(50):
        total, weight = decay * total + (values[i] if mask[i] else 0), decay * weight + mask[i]
        expected[i] = total / weight if mask[i] else 0.0
    np.testing.assert_allclose(smooth(values, mask, 5.0), expected, rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 700), st.floats(1.5, 200))
def test_equals_the_recursive_filter(seed, points, span):
    rng = np.random.default_rng(seed)
    values, mask = rng.normal(size=points), rng.random(points) < 0.7
    decay = 1 - 2 / (span + 1)
    top = np.asarray(lfilter([1.0], [1.0, -decay], np.where(mask, values, 0.0)))
    bottom = np.asarray(lfilter([1.0], [1.0, -decay], mask.astype(float)))
    expected = np.where(mask, top / np.where(mask, bottom, 1.0), 0.0)
    np.testing.assert_allclose(smooth(values, mask, span), expected, rtol=1e-9, atol=1e-12)


def test_is_causal():
    rng = np.random.default_rng(1)
    values, mask = rng.normal(size=40), np.ones(40, bool)
    changed = values.copy()
    changed[25:] = 1e6
    np.testing.assert_array_equal(smooth(values, mask, 6)[:25], smooth(changed, mask, 6)[:25])


def test_a_constant_stays_itself_from_the_first_point_on():
    np.testing.assert_allclose(smooth(np.full(30, 2.5), np.ones(30, bool), 9), 2.5)


def test_a_span_of_one_changes_nothing():
    values = np.arange(5.0)
    np.testing.assert_array_equal(smooth(values, np.ones(5, bool), 1.0), values)


def test_a_negative_span_is_refused():
    with pytest.raises(ValueError, match="span must be"):
        smooth(np.zeros(3), np.ones(3, bool), -1.0)
