"""Products in blocks: the same numbers."""

import numpy as np
import pytest

from lodestar.forecaster.response.products import product


@pytest.mark.parametrize(
    "shape", [(2, 3, 4), (240, 192, 192), (251, 192, 100), (14, 192, 240), (1, 192, 2000), (3, 6000, 90)]
)
def test_a_product_is_what_numpy_says(shape):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    assert product(one, other) == pytest.approx(one @ other, rel=1e-12, abs=1e-11)


def test_transposed_and_strided_matrices_are_read_as_they_are():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(200, 400))[:, ::2], rng.normal(size=(150, 200)).T
    assert product(one, other) == pytest.approx(one @ other, rel=1e-12, abs=1e-11)
