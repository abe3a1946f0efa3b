import math

import pytest

from lodestar.runs.digits import digits


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], 4),
        ([0.9, 0.9], 4),
        ([0.5, 0.9], 4),
        ([0.8841, 0.8843], 5),
        ([0.99981, 0.99985], 6),
        ([0.884, None, math.nan, 0.8840002], 8),
        ([12345.0, 12345.5], 7),
        ([0.0, 1e-30], 4),
    ],
)
def test_figures_that_differ_late_are_shown_in_more_digits(values, found):
    assert digits(values) == found
