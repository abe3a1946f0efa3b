"""Thinning keeps the ends, every peak and every dip."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.report.html import thin
from lodestar.report.html.thin import corners


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(4, 60))
def test_extremes_and_ends_stay(values, most):
    x, y = thin(np.arange(len(values)), values, most)
    assert len(x) <= most + 2
    assert (y.min(), y.max()) == (min(values), max(values))
    assert (x[0], x[-1]) == (0, len(values) - 1)
    assert np.all(np.diff(x) > 0)
    assert y.tolist() == [values[int(i)] for i in x]


def test_a_short_curve_stays_whole():
    x, y = thin([1, 2, 3], [3, 1, 2], 4)
    assert (x.tolist(), y.tolist()) == ([1, 2, 3], [3, 1, 2])


def test_a_gap_stays_a_gap():
    values = np.ones(1000)
    values[400:600] = np.nan
    x, y = thin(np.arange(1000), values, 50)
    assert np.isnan(y[(x >= 420) & (x < 580)]).all()
    assert np.isfinite(y[(x < 380) | (x > 620)]).all()


def test_a_straight_schedule_needs_its_corners_only():
    steps = np.arange(1, 601)
    x, _ = corners(steps, np.interp(steps, [1, 100, 600], [0.0, 1.0, 0.0]))
    assert x.tolist() == [1, 100, 600]


def test_corners_stay_close_everywhere():
    steps = np.arange(600)
    curve = 0.5 * (1 + np.cos(np.pi * steps / 599))
    x, y = corners(steps, curve)
    assert len(x) < 60
    assert np.max(np.abs(np.interp(steps, x, y) - curve)) <= 1e-3


@pytest.mark.parametrize("most", [0, 3])
def test_too_few_points_are_refused(most):
    with pytest.raises(ValueError, match="at least 4"):
        thin([1], [1], most)
