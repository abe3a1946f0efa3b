"""The tokens of a known schedule, by hand."""

import numpy as np

from lodestar.forecaster.preprocessing.normaliser import Channel
from lodestar.forecaster.preprocessing.transform import Kind, Transform
from lodestar.forecaster.tokens import schedule_bins, schedule_tokens

UNITS = Channel(Transform(Kind.IDENTITY), 0.0, 1.0)  # a typical rate of e^0 = 1


def test_a_schedule_s_bins_hold_the_mean_rate_and_the_share_of_a_whole_run_s_sum():
    bins = schedule_bins(np.array([[1.0, 3.0, 2.0, 2.0]]), UNITS, 2)
    np.testing.assert_allclose(bins, [[[2.0, 1.0], [2.0, 1.0]]])


def test_a_schedule_s_tokens_hold_time_rate_and_what_was_learned_before_and_is_to_come():
    bins = np.array([[[2.0, 1.0], [0.5, 0.25]]])
    made = schedule_tokens(bins)[0]
    np.testing.assert_allclose(made[:, 0], [0.25, 0.75])
    np.testing.assert_allclose(made[:, 1], [2.0, 0.5])
    np.testing.assert_allclose(made[:, 2], np.log([0.5 + 0.01, 1.125 + 0.01]) + 1)
    np.testing.assert_allclose(made[:, 3], np.log([0.75 + 0.01, 0.125 + 0.01]) + 1)


def test_a_rate_of_zero_throughout_the_rest_has_finite_tokens():
    units = Channel(Transform(Kind.LOG, floor=1e-3), -1.0, 1.0)
    assert np.isfinite(schedule_tokens(schedule_bins(np.eye(1, 100), units, 30))).all()
