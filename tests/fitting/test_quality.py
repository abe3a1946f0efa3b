"""Figures of merit, by hand."""

import numpy as np
import pytest

from lodestar.fitting.quality import relative_mse, spearman


def test_relative_mse_by_hand():
    truth = np.array([[[2.0, 1.0, 0.0], [4.0, 1.0, 0.0]]])
    forecast = np.array([[[3.0, 1.0, 1.0], [4.0, 3.0, 1.0]]])
    mask = np.array([[[True, True, True], [True, False, True]]])
    found = relative_mse(forecast, truth, mask)
    assert found[0, 0] == pytest.approx(1 / 20)
    assert found[0, 1] == 0.0
    assert np.isnan(found[0, 2])


def test_spearman_by_hand_with_ties():
    assert spearman(np.array([1.0, 2, 3, 4]), np.array([10.0, 20, 30, 25])) == pytest.approx(0.8)
    assert spearman(np.array([1.0, 1, 2]), np.array([1.0, 1, 2])) == pytest.approx(1.0)
    assert np.isnan(spearman(np.array([1.0, 1, 1]), np.array([1.0, 2, 3])))
