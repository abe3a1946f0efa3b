"""Statistics of the table: against SciPy, against cases worked out by hand, and at their limits."""

import math
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lodestar_bench.statistics import density, paired, spread, welch

numbers = st.lists(st.floats(-100, 100), min_size=2, max_size=25)


def test_spread_by_hand():
    found = spread([1.0, 2.0, 3.0, 6.0])
    assert (found.count, found.mean, found.low, found.high) == (4, 3.0, 1.0, 6.0)
    assert found.std == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3))


def test_one_value_has_no_spread_and_none_has_no_mean():
    assert math.isnan(spread([0.5]).std)
    assert spread([0.5]).mean == 0.5
    assert math.isnan(spread([]).mean)


def test_welch_by_hand():
    """Means 2 and 5, variances 1 and 4, three values each: t = -3 / sqrt(5/3), df = (25/9) / (17/18)."""
    found = welch([1, 2, 3], [3, 5, 7])
    assert found.t == pytest.approx(-3 / math.sqrt(5 / 3))
    assert found.freedom == pytest.approx((25 / 9) / (17 / 18))


@given(numbers, numbers)
def test_welch_equals_scipy(one, other):
    if np.std(one) < 1e-3 or np.std(other) < 1e-3:
        return
    found, known = welch(one, other), cast(Any, stats.ttest_ind(one, other, equal_var=False))
    assert found.t == pytest.approx(known.statistic, rel=1e-6, abs=1e-9)
    assert found.freedom == pytest.approx(known.df, rel=1e-6)
    assert found.p == pytest.approx(known.pvalue, rel=1e-6, abs=1e-12)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=2, max_size=25))
def test_paired_equals_scipy(pairs):
    one, other = zip(*pairs, strict=True)
    if np.std(np.subtract(one, other)) < 1e-3:
        return
    found, known = paired(one, other), stats.ttest_rel(one, other)
    interval = known.confidence_interval(0.95)
    assert found.p == pytest.approx(known.pvalue, rel=1e-6, abs=1e-12)
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-9)
    assert found.above == sum(a > b for a, b in pairs)


def test_equal_values_are_surely_equal_and_others_surely_not():
    assert welch([0.5, 0.5], [0.5, 0.5]).p == 1.0
    assert welch([0.5, 0.5], [0.4, 0.4]).p == 0.0
    assert welch([0.4, 0.4], [0.5, 0.5]).t == -math.inf
    assert paired([0.5, 0.6], [0.5, 0.6]).p == 1.0
    assert paired([0.5, 0.75], [0.25, 0.5]).p == 0.0


def test_too_few_values_give_no_verdict():
    assert math.isnan(welch([1.0], [1.0, 2.0]).p)
    assert math.isnan(paired([1.0], [2.0]).p)
    assert paired([1.0], [2.0]).mean == -1.0


def test_pairs_must_match():
    with pytest.raises(ValueError, match="as many on each side, got 2 and 1"):
        paired([1.0, 2.0], [1.0])


def test_a_density_holds_one():
    found = density([0.90, 0.91, 0.93, 0.95])
    assert found is not None
    x, height = found
    assert np.trapezoid(height, x) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("values", [[], [0.5, 0.6], [0.5] * 20])
def test_no_density_without_spread(values):
    assert density(values) is None
