"""The lines of stability, against the optimizers themselves on a quadratic."""

import pytest

from lodestar_bench.curvature import stability

CURVATURE = 3.0


def plain(lr, b):
    x = 1.0
    for _ in range(400):
        x -= lr * CURVATURE * x
    return abs(x)


def heavy_ball(lr, b):
    x, v = 1.0, 0.0
    for _ in range(400):
        v = b * v + CURVATURE * x
        x -= lr * v
    return abs(x)


def nesterov(lr, b):
    x, v = 1.0, 0.0
    for _ in range(400):
        g = CURVATURE * x
        v = b * v + g
        x -= lr * (g + b * v)
    return abs(x)


def averaged(lr, b):
    """Adam with a second moment that has settled: D = 1."""
    x, m = 1.0, 0.0
    for _ in range(400):
        m = b * m + (1 - b) * CURVATURE * x
        x -= lr * m
    return abs(x)


@pytest.mark.parametrize("b", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(
    ("walk", "line"),
    [
        (plain, lambda b: stability.gradient_descent()),
        (heavy_ball, stability.heavy_ball),
        (nesterov, stability.nesterov),
        (averaged, stability.adam),
    ],
)
def test_an_optimizer_settles_below_its_line_and_climbs_above_it(walk, line, b):
    lr = 2 * line(b) / CURVATURE
    assert walk(0.97 * lr, b) < 1
    assert walk(1.03 * lr, b) > 1


@pytest.mark.parametrize("momentum", [-0.1, 1.0])
def test_a_momentum_out_of_range_is_told(momentum):
    with pytest.raises(ValueError, match=r"momentum must lie in \[0, 1\)"):
        stability.heavy_ball(momentum)
