"""The NumPy runtime and the JAX model are one and the same function."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.fitting import LatentODE
from lodestar.fitting.contexts import tokens_of
from lodestar.fitting.weights import from_weights, to_weights
from lodestar.forecaster import Architecture, Network
from lodestar.forecaster.tokens import context_tokens, running_totals
from lodestar.testing import random_weights

TIMES = np.arange(1, 41) / 40


def small(encoder, solver, width):
    return Architecture(
        encoder=encoder, solver=solver, latent=5, hidden=6, field_width=7, decoder_width=width, tokens=8, steps=6
    )


def both(shape, seed):
    weights = random_weights(shape, 1, np.random.default_rng(seed), scale=2.0)
    model = from_weights(LatentODE(shape, key=jax.random.key(0)), {k: v[0] for k, v in weights.items()})
    return Network(shape, weights), model


@functools.cache
def compiled(encoder, solver, width):
    """Compiled once for all examples."""

    def run(model, tokens, valid):
        z0 = jax.vmap(model.encode)(tokens, valid)
        return z0, jax.vmap(lambda z: model.decode(z, TIMES))(z0)

    return eqx.filter_jit(run)


@pytest.mark.parametrize("encoder", ["gru", "ode-rnn"])
@pytest.mark.parametrize("solver", ["rk4", "tsit5"])
@pytest.mark.parametrize("width", [0, 9])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_runtime_equals_model_for_random_weights(encoder, solver, width, seed):
    rng = np.random.default_rng(seed)
    tokens = rng.normal(size=(3, 8, 7))
    tokens[..., 0] = np.sort(rng.random((3, 8)), axis=1)
    valid = rng.random((3, 8)) < 0.8
    valid[:, 0] = True
    with jax.enable_x64(True):
        network, model = both(small(encoder, solver, width), seed)
        z0, runs = compiled(encoder, solver, width)(model, jnp.asarray(tokens), jnp.asarray(valid))
        assert runs.dtype == jnp.float64
        np.testing.assert_allclose(network.encode(tokens, valid)[0], z0, atol=1e-9)
        np.testing.assert_allclose(network.decode(np.asarray(z0)[None], TIMES)[0], runs, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_a_model_fitted_in_single_precision_is_read_to_a_millionth(seed):
    """The runtime reads such a model's decoder in single precision too; JAX in double is the judge."""
    shape = small("gru", "rk4", 9)
    rng = np.random.default_rng(seed)
    weights = {k: v.astype(np.float32) for k, v in random_weights(shape, 1, rng).items()}
    tokens, valid = rng.normal(size=(3, 8, 7)), np.ones((3, 8), bool)
    with jax.enable_x64(True):
        double = {k: v[0].astype(np.float64) for k, v in weights.items()}
        model = from_weights(LatentODE(shape, key=jax.random.key(0)), double)
        z0, runs = compiled("gru", "rk4", 9)(model, jnp.asarray(tokens), jnp.asarray(valid))
        made = Network(shape, weights).decode(np.asarray(z0)[None], TIMES)
        assert made.dtype == np.float64
        np.testing.assert_allclose(made[0], runs, atol=1e-6)


def test_weights_go_there_and_back():
    _, model = both(small("ode-rnn", "rk4", 0), 1)
    again = from_weights(model, to_weights(model))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), to_weights(model), to_weights(again)))


@given(seed=st.integers(0, 2**31), start=st.integers(0, 39), length=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_tokens_are_the_same_in_the_fit_and_in_the_runtime(seed, start, length):
    length = min(length, 40 - start)
    rng = np.random.default_rng(seed)
    values, mask = rng.normal(size=(40, 3)), rng.random((40, 3)) < 0.7
    with jax.enable_x64(True):
        totals = jnp.asarray(running_totals(values, mask))
        theirs, fine = tokens_of(totals, jnp.asarray(start), jnp.asarray(length), 8)
        ours, valid = context_tokens(values[start : start + length], mask[start : start + length], start, 40, 8)
        np.testing.assert_array_equal(valid, fine)
        np.testing.assert_allclose(ours[valid], np.asarray(theirs)[valid], atol=1e-12)
