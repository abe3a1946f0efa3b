"""Hypergradient descent: against a slow plain reference, and against the derivative it claims to follow."""

import dataclasses

import numpy as np
import pytest

from bench_testing import reference_hypergradient as reference
from bench_testing.bowl import ADAM, ADAMW, SGD, START, descend, flat, gradient_of, loss
from lodestar_bench.optimizers import hypergradient


def assert_follows(ours, expected):
    for (params, _, used), (theta, alpha) in zip(ours, expected, strict=True):
        np.testing.assert_allclose(flat(params), theta, rtol=1e-9, atol=1e-12)
        assert used == pytest.approx(alpha, rel=1e-9)


def test_sgd_form_equals_the_reference():
    recipe = dataclasses.replace(SGD, weight_decay=0.0)
    ours = descend(hypergradient(recipe, 0.01), np.full(40, 1e-3))
    assert_follows(ours, reference.sgdn_hd(flat(START), gradient_of, 0.01, 1e-3, 40, recipe.momentum))
    assert ours[5][2] > 0.011, "the rate should have risen on a slope"


def test_adam_form_equals_the_reference():
    ours = descend(hypergradient(ADAM, 0.01), np.full(40, 1e-4))
    assert_follows(ours, reference.adam_hd(flat(START), gradient_of, 0.01, 1e-4, 40))
    assert ours[5][2] > 0.0105


@pytest.mark.parametrize("recipe", [SGD, ADAMW], ids=["sgd", "adamw"])
def test_the_rate_moves_along_the_derivative_of_the_loss(recipe):
    """alpha_2 - alpha_1 = -beta d loss(theta_1) / d alpha_1, by finite differences over the first rate."""
    # The gradient that SGD follows includes its decay, the loss does not: that form is checked without.
    recipe = dataclasses.replace(recipe, weight_decay=0.0) if recipe.optimizer == "sgd" else recipe

    def after_one(rate):
        return loss(descend(hypergradient(recipe, rate), [1e-4])[0][0])

    ours = descend(hypergradient(recipe, 0.01), [1e-4, 1e-4])
    slope = (after_one(0.01 + 1e-6) - after_one(0.01 - 1e-6)) / 2e-6
    change = ours[1][2] - ours[0][2]
    assert change == pytest.approx(-1e-4 * slope, rel=1e-5)


def test_beta_zero_is_a_constant_rate():
    assert {used for _, _, used in descend(hypergradient(ADAM, 0.01), np.zeros(10))} == {0.01}


def test_the_rate_never_goes_below_zero():
    """A step far too long: the next gradient points back, and the equations would take the rate below zero."""
    recipe = dataclasses.replace(SGD, momentum=0.0, weight_decay=0.0)
    (_, alpha), (_, unbounded) = reference.sgdn_hd(flat(START), gradient_of, 2.0, 5.0, 2, 0.0)
    assert alpha == 2.0 and unbounded < 0
    assert [used for _, _, used in descend(hypergradient(recipe, 2.0), [5.0, 5.0])] == [2.0, 0.0]
