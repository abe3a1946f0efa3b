"""Power iteration and Lanczos on matrices whose eigenvalues are known."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lodestar_bench.curvature import Operator, lanczos, measure, power


def matrix(eigenvalues, seed=0):
    """A symmetric matrix with these eigenvalues, in a random frame."""
    frame, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(eigenvalues),) * 2))
    return (frame * np.asarray(eigenvalues)) @ frame.T


MAGIC: Any = "magic"
symmetric = st.integers(1, 9).flatmap(
    lambda n: arrays(np.float64, (n, n), elements=st.floats(-10, 10, width=32)).map(lambda a: (a + a.T) / 2)
)


@settings(deadline=None, max_examples=60)
@given(symmetric, st.integers(0, 2**32 - 1))
def test_lanczos_finds_both_ends_of_any_symmetric_matrix(found, seed):
    largest, lowest, products = lanczos(Operator.of(found), seed=seed, tolerance=1e-9)
    values = np.linalg.eigvalsh(found)
    scale = max(1e-12, float(np.abs(values).max()))
    assert largest.value == pytest.approx(values[-1], abs=1e-6 * scale)
    assert lowest.value == pytest.approx(values[0], abs=1e-6 * scale)
    assert products <= len(found)


@settings(deadline=None, max_examples=60)
@given(symmetric, st.integers(0, 2**32 - 1))
def test_an_eigenvalue_lies_within_the_residual(found, seed):
    edge, _ = power(Operator.of(found), seed=seed, iterations=50)
    values = np.linalg.eigvalsh(found)
    rounding = 1e-9 * float(np.abs(values).max())
    assert np.abs(values - edge.value).min() <= edge.residual + rounding
    assert edge.value <= values[-1] + rounding


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-1, 0.8), min_size=1, max_size=12),
    st.floats(0.1, 1e4),
    st.integers(0, 2**32 - 1),
)
def test_power_iteration_agrees_with_lanczos_where_there_is_a_gap(others, scale, seed):
    operator = Operator.of(scale * matrix([1.0, *others], seed % 7))
    largest, products = power(operator, seed=seed, iterations=1000)
    assert largest.converged
    assert largest.value == pytest.approx(scale, rel=2e-2)
    assert lanczos(operator, seed=seed)[0].value == pytest.approx(largest.value, rel=2e-2)
    assert products <= 2001


def test_the_largest_is_found_though_a_negative_one_is_larger_in_absolute_value():
    edge, _ = power(Operator.of(matrix([-50.0, -3.0, 0.5, 2.0])), seed=0, iterations=2000, tolerance=1e-4)
    assert edge.converged
    assert edge.value == pytest.approx(2.0, rel=1e-4)


def test_equal_and_opposite_eigenvalues_do_not_stall_it():
    edge, _ = power(Operator.of([[0.0, 1.0], [1.0, 0.0]]), seed=3, tolerance=1e-6)
    assert edge.converged
    assert edge.value == pytest.approx(1.0)


def test_a_matrix_without_a_positive_eigenvalue_has_a_negative_largest():
    edge, _ = power(Operator.of(matrix([-4.0, -3.0, -1.0])), seed=0, iterations=500, tolerance=1e-3)
    assert edge.converged
    assert edge.value == pytest.approx(-1.0, rel=1e-3)


def test_a_flat_loss_has_sharpness_zero():
    for method in ("power", "lanczos"):
        found = measure(Operator.of(np.zeros((5, 5))), seed=0, method=method)
        assert (found.value, found.residual, found.converged, found.products) == (0.0, 0.0, True, 1)


def test_too_few_iterations_are_told():
    operator = Operator.of(np.diag(np.linspace(0.9, 1.0, 200)))
    edge, products = power(operator, seed=0, iterations=3, tolerance=1e-4)
    assert not edge.converged and products == 4  # the last one asks whether a negative eigenvalue is in the way
    assert "NOT converged" in str(measure(operator, seed=0, iterations=3, tolerance=1e-4))


def test_lanczos_needs_fewer_products_where_eigenvalues_crowd():
    operator = Operator.of(np.diag(np.linspace(0, 1, 300) ** 0.5))
    _, slow = power(operator, seed=0, iterations=5000, tolerance=1e-3)
    largest, lowest, quick = lanczos(operator, seed=0, iterations=300, tolerance=1e-3)
    assert largest.converged and lowest.converged
    assert largest.value == pytest.approx(1.0, abs=1e-3)
    assert quick < slow / 2


def test_copies_of_an_eigenvalue_do_not_trouble_lanczos():
    largest, lowest, products = lanczos(Operator.of(matrix([2.0, 2.0, 2.0, -1.0, -1.0])), seed=0)
    assert (largest.value, lowest.value, products) == (pytest.approx(2.0), pytest.approx(-1.0), 2)


def test_the_same_seed_gives_the_same_number():
    operator = Operator.of(matrix(np.linspace(-1, 3, 20)))
    assert measure(operator, seed=5) == measure(operator, seed=5)
    assert measure(operator, seed=5).value != measure(operator, seed=6).value


def test_a_divided_operator_has_the_eigenvalues_of_the_preconditioned_matrix():
    found, divisor = matrix([1.0, 2.0, -3.0, 8.0]), np.array([0.1, 2.0, 0.5, 1.0])
    edge = lanczos(Operator.of(found).divided(divisor), seed=0, tolerance=1e-9)[0]
    assert edge.value == pytest.approx(np.linalg.eigvals(found / divisor[:, None]).real.max())


def test_an_infinite_divisor_leaves_a_parameter_out():
    edge = lanczos(Operator.of(np.diag([9.0, 4.0, 1.0])).divided([np.inf, 2.0, 1.0]), seed=0, tolerance=1e-9)[0]
    assert edge.value == pytest.approx(2.0)


def test_the_sentence_says_how_it_was_found():
    told = str(measure(Operator.of(np.diag([3.0, -1.0])), seed=0, method="lanczos", loss=0.5))
    assert told.startswith("sharpness 3 (residual ") and "2 products by lanczos" in told
    assert told.endswith("lowest eigenvalue -1, loss 0.5, 2 parameters")


def test_stability_is_half_of_rate_times_sharpness():
    assert measure(Operator.of([[40.0]]), seed=0).stability(0.1) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: Operator(0, lambda v: v), "size must be at least 1, got 0"),
        (lambda: Operator.of([[0.0, 1.0], [2.0, 0.0]]), "square and symmetric"),
        (lambda: measure(Operator.of(np.eye(3)), seed=0, method=MAGIC), "method must be one of power, lanczos"),
        (lambda: measure(Operator.of(np.eye(3)), seed=0, iterations=0), "iterations must be at least 1, got 0"),
        (lambda: measure(Operator.of(np.eye(3)), seed=0, tolerance=0.0), "tolerance must be a finite number above 0"),
        (lambda: power(Operator.of(np.full((2, 2), math.nan)), seed=0), "2 of 2 numbers that are not finite"),
        (lambda: Operator(3, lambda v: v[:2])(np.ones(3)), r"must have shape \(3,\)"),
        (lambda: Operator.of(np.eye(2)).divided([1.0, 0.0]), "above 0, got 0.0 for parameter 1"),
        (lambda: Operator.of(np.eye(2)).divided([1.0]), "must hold 2 numbers"),
    ],
)
def test_a_bad_argument_is_told(act, words):
    with pytest.raises(ValueError, match=words):
        act()
