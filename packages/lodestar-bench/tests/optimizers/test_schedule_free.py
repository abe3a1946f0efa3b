"""Schedule-free: against slow plain loops, and against its authors' own package, step for step."""

import numpy as np
import pytest

from bench_testing.bowl import ADAMW, SGD, START, descend, flat, gradient_of, torch_path
from bench_testing.reference_schedule_free import schedule_free as reference
from lodestar_bench.optimizers import schedule_free

RATES = 0.05 * np.minimum(np.arange(1, 41) / 10, 1)  # a warm-up, then flat


@pytest.mark.parametrize("recipe", [SGD, ADAMW], ids=["sgd", "adamw"])
def test_equals_the_reference(recipe):
    ours = descend(schedule_free(recipe), RATES)
    b = recipe.momentum if recipe.optimizer == "sgd" else recipe.b1
    expected = reference(flat(START), gradient_of, RATES, b, 1e-2, adam=recipe.optimizer != "sgd")
    for (params, judged, used), (x, y), rate in zip(ours, expected, RATES, strict=True):
        np.testing.assert_allclose(flat(params), y, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(flat(judged), x, rtol=1e-8, atol=1e-10)
        assert used == pytest.approx(rate)


@pytest.mark.parametrize("recipe", [SGD, ADAMW], ids=["sgd", "adamw"])
def test_equals_the_authors_package(recipe):
    package = pytest.importorskip("schedulefree")

    def make(params):
        if recipe.optimizer == "sgd":
            made = package.SGDScheduleFree(params, lr=1.0, momentum=0.9, weight_decay=1e-2)
        else:
            made = package.AdamWScheduleFree(params, lr=1.0, betas=(0.9, 0.999), weight_decay=1e-2)
        made.train()
        return made

    for (params, _, _), expected in zip(descend(schedule_free(recipe), RATES), torch_path(make, RATES), strict=True):
        np.testing.assert_allclose(flat(params), flat(expected), rtol=1e-6, atol=1e-8)


def test_the_weights_to_judge_by_are_the_average_not_those_trained():
    params, judged, _ = descend(schedule_free(ADAMW), RATES)[-1]
    assert np.abs(flat(params) - flat(judged)).max() > 1e-4
