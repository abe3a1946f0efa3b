import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lodestar.forecaster.preprocessing.grid import averaged, drawn, last_step_of, latest, point_at, point_of
from lodestar.runs import Series


def test_a_point_holds_the_steps_up_to_its_end():
    assert point_of(np.array([0, 1, 10, 11, 20, 100]), 100, 10).tolist() == [0, 0, 0, 1, 1, 9]
    assert last_step_of(np.array([0, 9]), 100, 10).tolist() == [10, 100]


@given(st.integers(1, 10**9), st.integers(20, 10_000), st.data())
def test_a_point_and_its_last_step_agree(total, points, data):
    step = data.draw(st.integers(1, total))
    point = int(point_of(step, total, points))
    assert point == point_at(step, total, points)
    assert 0 <= point < points
    assert step <= int(last_step_of(point, total, points))
    assert point == 0 or step > int(last_step_of(point - 1, total, points))


def test_losses_within_a_point_are_averaged_and_gaps_are_masked():
    values, mask = averaged(Series([1, 2, 9], [1.0, 3.0, 7.0]), 10, 5)
    assert values.tolist() == [2.0, 0, 0, 0, 7.0]
    assert mask.tolist() == [True, False, False, False, True]


def test_nan_within_a_point_is_not_averaged_in():
    values, mask = averaged(Series([1, 2, 3], [1.0, np.nan, np.inf]), 4, 2)
    assert values[0] == 1.0
    assert mask.tolist() == [True, False]


def test_of_several_metrics_in_a_point_the_last_counts():
    values, _ = latest(Series([1, 2, 3], [0.1, 0.2, 0.3]), 4, 2)
    assert values.tolist() == [0.2, 0.3]


def test_a_rate_is_drawn_through_its_logged_values():
    values, mask = drawn(Series([2, 10], [1.0, 0.0]), 10, 5, last_step=10)
    np.testing.assert_allclose(values, [1.0, 0.75, 0.5, 0.25, 0.0])
    assert mask.all()


def test_a_run_that_starts_late_and_is_cut_short_is_masked_outside():
    _, mask = drawn(Series([5, 7], [1.0, 1.0]), 10, 5, last_step=7)
    assert mask.tolist() == [False, False, True, True, False]


def test_nothing_logged_is_all_masked():
    assert not drawn(Series.empty(), 10, 5, 10)[1].any()
    assert not averaged(Series.empty(), 10, 5)[1].any()
