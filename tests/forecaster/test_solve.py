import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lodestar.forecaster.solve import hermite_matrix, rk4_knots
from lodestar.forecaster.tsit5 import tsit5

RATES = np.array([1.0, 2.0, 5.0])
TIMES = np.linspace(0, 1, 33)


def field(t, z):
    """Three independent waves whose speed grows with the time."""
    return np.cos(RATES * z + 3 * t)


def truth(z0, tolerance=1e-12):
    found = solve_ivp(lambda t, z: field(t, z), (0, 1), z0, t_eval=TIMES, rtol=tolerance, atol=tolerance)
    return found.y.T


def test_rk4_with_hermite_comes_close_to_the_truth():
    z0 = np.array([[0.1, -0.5, 0.7], [1.0, 0.0, -1.0]])
    states = np.matmul(hermite_matrix(TIMES, 24), rk4_knots(field, z0, 24))
    for one, start in zip(states, z0, strict=True):
        np.testing.assert_allclose(one, truth(start), atol=1e-4)


def test_hermite_goes_through_the_knots_and_reads_late_times_at_the_end():
    z0 = np.array([[0.1, -0.5, 0.7]])
    knots = rk4_knots(field, z0, 10)
    at_knots = np.matmul(hermite_matrix(np.linspace(0, 1, 11), 10), knots)
    np.testing.assert_allclose(at_knots, knots[:, :11], atol=1e-12)
    late = np.matmul(hermite_matrix(np.array([1.0, 1.7]), 10), knots)
    np.testing.assert_array_equal(late[:, 0], late[:, 1])


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_tsit5_keeps_its_tolerance(tolerance):
    z0 = np.array([[[0.1, -0.5, 0.7], [1.0, 0.0, -1.0]]])
    states, steps = tsit5(field, z0, TIMES, tolerance, tolerance)
    for one, start in zip(states[0], z0[0], strict=True):
        np.testing.assert_allclose(one, truth(start), atol=30 * tolerance)
    assert steps.evaluations[-1].min() > 6


def test_tighter_tolerances_take_more_steps():
    z0 = np.array([[0.1, -0.5, 0.7]])
    loose, tight = (tsit5(field, z0, TIMES, tol, tol)[1].kept.sum() for tol in (1e-4, 1e-8))
    assert tight > loose


def test_steps_add_up_to_the_whole_run():
    _, steps = tsit5(field, np.array([[0.1, -0.5, 0.7], [2.0, 1.0, 0.0]]), TIMES, 1e-6, 1e-6)
    np.testing.assert_allclose(np.where(steps.kept, steps.size, 0).sum(axis=0), 1.0, atol=1e-12)


def test_a_step_too_long_is_rejected_and_tried_again():
    _, steps = tsit5(lambda t, z: 200 * np.cos(40 * t) * np.ones_like(z), np.zeros((1, 2)), TIMES, 1e-8, 1e-8)
    assert not steps.kept.all()
