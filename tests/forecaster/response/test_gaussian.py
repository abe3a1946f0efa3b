"""The sparse posterior equals the textbook's dense one where every point is an inducing point."""

import numpy as np
import pytest

from lodestar.fitting.response.evidence import kernels, posterior, prior, spread_out
from lodestar.forecaster.response.gaussian import Kernel, RunKernel


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4, 5, 3))
    values = np.sin(points[..., 0]) + 0.3 * points[..., 1]
    return points, values, np.array([0.1, 0.2, 0.4, 0.7, 1.0])


def test_mean_and_variance_are_those_of_the_dense_formula(examples):
    points, values, times = examples
    kernel, run = Kernel(np.array([1.0, 2.0, 3.0]), 1.3, 0.2), RunKernel(0.05, 0.1, 0.5, 0.02)
    flat = points.reshape(-1, 3)
    known = np.ones(values.shape, dtype=bool)
    found = posterior(kernel, run, points, values, known, times, flat)
    own = np.kron(np.eye(4), run(times, times) + run.noise * np.eye(5))
    cover = kernel(flat, flat) + own
    asked = np.random.default_rng(1).normal(size=(6, 3))
    cross = kernel(asked, flat)
    mean = cross @ np.linalg.solve(cover, values.reshape(-1))
    variance = kernel.diagonal(asked) - np.einsum("ij,ji->i", cross, np.linalg.solve(cover, cross.T))
    assert found.moments(asked)[0] == pytest.approx(mean, abs=1e-4)
    assert found.moments(asked)[1] == pytest.approx(variance, abs=1e-4)
    assert np.diag(found.covariance(asked, asked)) == pytest.approx(variance, abs=1e-4)


def test_what_is_not_known_counts_for_nothing(examples):
    points, values, times = examples
    kernel, run = kernels(prior(3)[0])
    known = np.ones(values.shape, dtype=bool)
    known[2, 1:] = False
    spoiled = np.where(known, values, 1e6)
    args = (known, times, points.reshape(-1, 3))
    assert np.array_equal(
        posterior(kernel, run, points, values * known, *args).weights,
        posterior(kernel, run, points, spoiled, *args).weights,
    )


def test_spread_out_points_are_far_apart():
    points = np.concatenate([np.zeros((50, 2)), np.eye(2)])
    assert {tuple(row) for row in spread_out(points, 3)} == {(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)}
