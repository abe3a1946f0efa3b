"""A schedule's history: cells, the sum of the rate, annealing, and no look ahead."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lodestar.forecaster.response.history import CELLS, FEATURES, Clock, on_cells


@given(st.lists(st.floats(0, 1e-1), min_size=1, max_size=700))
def test_cells_keep_the_sum_of_the_rate(rates):
    cells = on_cells(np.array([rates]))
    assert cells.shape == (1, CELLS)
    assert cells.mean() == pytest.approx(np.mean(rates), rel=1e-9, abs=1e-15)


def test_a_cell_is_the_mean_of_its_entries():
    assert on_cells(np.arange(300.0)[None])[0, :3] == pytest.approx([1.0, 4.0, 7.0])


def test_an_entry_longer_than_a_cell_fills_several():
    assert on_cells(np.array([[1.0, 3.0]]))[0, [0, 49, 50, 99]] == pytest.approx([1.0, 1.0, 3.0, 3.0])


def test_annealing_by_hand():
    rates = np.zeros((1, CELLS))
    rates[0, :2] = (0.5, 0.25)
    found = Clock(sum=1.0, peak=0.5).look(rates, np.array([1])).annealing([(4.0, 1.0)])
    # S is 0.5 after the first cell and 0.75 after the second: one quarter since the first, nothing since the second.
    assert found[0, 0, 0] == pytest.approx(CELLS * (0.25 / (1 + 4 * 0.25) + 0.0625))


def test_features_know_nothing_of_what_comes_later():
    rng = np.random.default_rng(0)
    one = rng.uniform(0, 1e-2, (3, CELLS))
    other = np.where(np.arange(CELLS) > 40, rng.uniform(0, 1e-2, (3, CELLS)), one)
    clock, at = Clock.of(one), np.array([3, 40])
    assert np.array_equal(clock.features(one, at), clock.features(other, at))
    assert clock.features(one, at).shape == (3, 2, FEATURES)


@pytest.mark.parametrize(("total", "peak"), [(0.0, 1.0), (1.0, 0.0), (float("nan"), 1.0), (-1.0, 1.0)])
def test_a_clock_without_a_unit_is_refused(total, peak):
    with pytest.raises(ValueError, match="above zero"):
        Clock(total, peak)
