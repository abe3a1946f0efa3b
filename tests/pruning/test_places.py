import numpy as np
import pytest
from scipy.stats import norm, t

from lodestar.pruning.places import Past, in_time, normal_scores


def past(finals, *, told=None, variances=None, count=None) -> Past:
    finals = np.asarray(finals, float)
    told = np.ones(len(finals), bool) if told is None else np.asarray(told)
    return Past(finals, np.zeros(len(finals)) if variances is None else variances, told, count or len(finals))


def test_scores_of_trials_that_are_not_here_are_the_lowest():
    """Of five trials the two that are here hold the first and the second tenth-and-a-half of the places."""
    np.testing.assert_allclose(normal_scores(np.array([1.0, 3.0]), 5), norm.ppf([0.7, 0.9]))


def test_four_trials_in_the_same_order_by_hand():
    """Scores 1.1503, 0.3186 and their negatives: squares 2.8497, and so a slope of 2.8497 / (2.8497 + 0.3)."""
    values = np.array([4.0, 3.0, 2.0, 1.0])
    scores = norm.ppf([0.875, 0.625, 0.375, 0.125])
    squares = float((scores**2).sum())
    assert squares == pytest.approx(2.8497, abs=1e-4)
    slope = squares / (squares + 0.3)
    weights = np.array([1.0, 1.0, 0.2, 0.2])
    missed = float((weights * ((1 - slope) * scores) ** 2).sum())
    left_open = (missed + 2.0 * (1 - slope**2)) / (2.4 + 2.0)
    whole = slope**2 + left_open
    deviation = np.sqrt(left_open / whole * (1 + 2.25**2 / (squares + 0.3)))
    lowest = slope * 2.25 / whole + t.ppf(0.015, 5.4) * deviation
    assert past(values).by_value(values) == pytest.approx(norm.sf(lowest))
    assert past(values).by_value(values) == pytest.approx(0.2133, abs=1e-4)


def test_values_that_order_nothing_leave_winners_anywhere():
    finals = np.array([3.0, 1.0, 4.0, 2.0, 6.0, 5.0])
    assert past(finals).by_value(-finals) > 0.99


def test_more_trials_in_the_same_order_prove_more():
    shares = [past(np.arange(count)).by_value(np.arange(count)) for count in (4, 8, 16, 32)]
    assert shares == sorted(shares, reverse=True) and shares[-1] < 0.1


def test_no_share_is_smaller_than_a_few_trials():
    assert past(np.arange(120)).by_value(np.arange(120)) == 0.03


def test_stopping_trials_for_their_looks_does_not_bend_what_the_others_show():
    """Looks and finals of a slope of 0.8; the lower three quarters are stopped and have no finals of their own."""
    rng = np.random.default_rng(0)
    looks = rng.normal(size=128)
    finals = 0.8 * looks + 0.6 * rng.normal(size=128)
    stopped = looks < np.quantile(looks, 0.75)
    unknown = np.where(stopped, 0.8 * looks, finals)
    whole = past(finals).by_value(looks)
    assert past(unknown, told=~stopped).by_value(looks) == pytest.approx(whole, abs=0.12)


def test_forecast_finals_widen_by_their_doubt():
    finals = np.arange(12.0)
    told = finals > 5
    sure = past(finals, told=told).by_forecast(finals)
    doubted = past(finals, told=told, variances=np.where(told, 0.0, 9.0)).by_forecast(finals)
    assert doubted > sure + 0.05


def test_a_later_moment_knows_as_much_as_one_before_it():
    np.testing.assert_allclose(in_time([0.5, 0.2, 0.4, 0.1]), [0.5, 0.3, 0.3, 0.1])
