"""Sharpness of JAX losses, against dense Hessians."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from lodestar_bench.curvature.jax import Curvature, adam_preconditioner, sharpness


def loss(params, batch):
    inputs, labels = batch
    hidden = jnp.tanh(inputs @ params["first"]["weight"] + params["first"]["bias"])
    logits = hidden @ params["second"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@pytest.fixture(scope="module")
def net():
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    params = {"first": {"weight": draw(5, 6), "bias": draw(6)}, "second": draw(6, 3)}
    return params, (draw(32, 5), rng.integers(0, 3, 32))


@pytest.fixture(scope="module")
def curvature():
    return Curvature(loss)


@pytest.fixture(scope="module")
def dense(net):
    params, batch = net
    flat, tree = ravel_pytree(params)
    return np.asarray(jax.jit(jax.hessian(lambda v: loss(tree(v), batch)))(flat), np.float64)


def test_the_dense_hessian_says_the_same(net, curvature, dense):
    values = np.linalg.eigvalsh(dense)
    by_power = curvature.sharpness(*net, seed=0, tolerance=1e-4, iterations=2000)
    by_lanczos = curvature.sharpness(*net, seed=1, method="lanczos", tolerance=1e-4)
    assert by_power.converged and by_lanczos.converged and by_lanczos.lowest.converged
    assert by_power.value == pytest.approx(values[-1], rel=1e-4)
    assert by_lanczos.value == pytest.approx(values[-1], rel=1e-4)
    assert by_lanczos.lowest.value == pytest.approx(values[0], abs=1e-3 * values[-1])
    assert values[0] < 0  # a net that has not been trained curves down, too
    assert by_power.parameters == len(dense)
    assert by_power.loss == pytest.approx(float(loss(*net)))


def test_products_are_those_of_the_dense_hessian(net, curvature, dense):
    operator, _ = curvature.operator(*net)
    vector = np.random.default_rng(1).standard_normal(operator.size)
    np.testing.assert_allclose(operator(vector), dense @ vector, atol=1e-5)


def test_adams_preconditioner_is_what_its_update_divides_by(net, curvature, dense):
    params, batch = net
    adam = optax.chain(optax.scale_by_adam(0.9, 0.99), optax.add_decayed_weights(1e-3))

    @jax.jit
    def three_updates(params):
        state, gradient = adam.init(params), jax.grad(loss)(params, batch)
        for _ in range(2):
            _, state = adam.update(gradient, state, params)
        return adam.update(gradient, state, params)

    move, state = three_updates(params)
    divisor = adam_preconditioner(state, b2=0.99)
    moment = state[0].mu
    for got, m, d, p in zip(*map(jax.tree.leaves, (move, moment, divisor, params)), strict=True):
        np.testing.assert_allclose(got, np.asarray(m) / d + 1e-3 * p, rtol=2e-3)
    found = curvature.sharpness(params, batch, seed=0, method="lanczos", preconditioner=divisor, tolerance=1e-4)
    flat = np.concatenate([np.ravel(part) for part in jax.tree.leaves(divisor)])
    assert found.preconditioned
    assert found.value == pytest.approx(np.linalg.eigvals(dense / flat[:, None]).real.max(), rel=1e-3)


def test_a_quadratic_of_scalars_in_a_list():
    found = sharpness(lambda p, batch: batch * (2 * p[0] ** 2 + p[1] ** 2), [jnp.ones(()), jnp.ones(())], 3.0, seed=0)
    assert found.value == pytest.approx(12.0, rel=1e-3)
    assert found.parameters == 2


@pytest.mark.parametrize(
    ("params", "wrong", "words"),
    [
        ({"w": jnp.ones(2)}, lambda p, b: p["w"].sum() * jnp.nan, "the loss at these weights is nan"),
        ({"w": jnp.ones(2)}, lambda p, b: p["w"], r"must give one number, got shape \(2,\)"),
        ({"w": jnp.ones(2)}, lambda p, b: (p["w"].sum(), b), "got a tuple"),
        ({}, lambda p, b: jnp.zeros(()), "params holds no weights"),
        ({"w": jnp.ones(2), "count": jnp.ones(1, int)}, lambda p, b: p["w"].sum(), r"params\['count'\] is int32"),
        ({"w": jnp.ones(2, jnp.bfloat16)}, lambda p, b: p["w"].sum(), r"params\['w'\] is bfloat16"),
        ({"w": jnp.zeros(2)}, lambda p, b: jnp.linalg.norm(p["w"]), "not finite. The loss has no second derivative"),
    ],
)
def test_what_has_no_hessian_is_told(params, wrong, words):
    with pytest.raises(ValueError, match=words):
        sharpness(wrong, params, jnp.ones(()), seed=0)


def test_a_preconditioner_of_another_shape_is_told(net, curvature):
    with pytest.raises(ValueError, match="preconditioner must be a tree like params"):
        curvature.sharpness(*net, seed=0, preconditioner={"first": np.ones(3)})


def test_a_weight_without_a_gradient_is_left_out():
    state = optax.adam(1e-3).init({"w": jnp.ones(2)})
    _, state = optax.adam(1e-3).update({"w": jnp.array([0.5, 0.0])}, state)
    divisor = adam_preconditioner(state)["w"]
    assert divisor.tolist() == [pytest.approx(0.1 * 0.5, rel=1e-5), np.inf]


def test_an_adam_before_its_first_update_has_no_preconditioner(net):
    with pytest.raises(ValueError, match="before its first update"):
        adam_preconditioner(optax.adam(1e-3).init(net[0]))
    with pytest.raises(ValueError, match="moments of one Adam"):
        adam_preconditioner(optax.sgd(1e-3).init(net[0]))


def test_neither_jax_nor_torch_is_imported_before_it_is_needed():
    code = (
        "import sys, lodestar_bench.curvature, lodestar_bench.curvature.jax, lodestar_bench.curvature.torch;"
        "assert not {'jax', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
