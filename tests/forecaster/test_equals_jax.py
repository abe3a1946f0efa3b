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
from lodestar.fitting.known import schedule_tokens_of
from lodestar.fitting.weights import from_weights, to_weights
from lodestar.forecaster import Architecture, Network
from lodestar.forecaster.preprocessing.normaliser import Channel
from lodestar.forecaster.preprocessing.transform import Kind, Transform
from lodestar.forecaster.tokens import context_tokens, running_totals, schedule_bins, schedule_tokens
from lodestar.testing import random_weights

TIMES = np.arange(1, 41) / 40


def small(encoder, solver, width, schedules=False):
    sizes = {"latent": 5, "hidden": 6, "field_width": 7, "decoder_width": width, "tokens": 8, "steps": 6}
    return Architecture(encoder=encoder, solver=solver, schedules=schedules, **sizes)


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


@functools.cache
def compiled_with_schedules(encoder):
    def run(model, tokens, valid, schedule):
        return jax.vmap(model.encode)(tokens, valid, schedule, jnp.ones(len(tokens), bool))

    return eqx.filter_jit(run)


@pytest.mark.parametrize("encoder", ["gru", "ode-rnn"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_known_schedules_are_read_alike_with_part_or_nothing_of_the_run_seen(encoder, seed):
    rng = np.random.default_rng(seed)
    tokens, schedule = rng.normal(size=(3, 8, 7)), rng.normal(size=(3, 8, 4))
    tokens[..., 0] = np.sort(rng.random((3, 8)), axis=1)
    valid = rng.random((3, 8)) < np.array([[1.0], [0.5], [0.0]])
    with jax.enable_x64(True):
        network, model = both(small(encoder, "rk4", 9, schedules=True), seed)
        theirs = compiled_with_schedules(encoder)(model, *map(jnp.asarray, (tokens, valid, schedule)))
        ours = network.encode(tokens, valid) + network.read_schedules(schedule)
        np.testing.assert_allclose(ours[0], theirs, atol=1e-9)


def test_a_known_schedule_of_a_single_precision_model_is_read_to_a_millionth():
    shape, rng = small("gru", "rk4", 9, schedules=True), np.random.default_rng(0)
    weights = {k: v.astype(np.float32) for k, v in random_weights(shape, 1, rng).items()}
    tokens = rng.normal(size=(70, 8, 4))
    double = Network(shape, {k: v.astype(np.float64) for k, v in weights.items()})
    ours = Network(shape, weights).read_schedules(tokens)
    np.testing.assert_allclose(ours, double.read_schedules(tokens), atol=1e-6)


@given(seed=st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_a_schedule_s_tokens_are_the_same_in_the_fit_and_in_the_runtime(seed):
    rng = np.random.default_rng(seed)
    rates = rng.random((3, 100)) * (rng.random((3, 100)) < 0.8)
    bins = schedule_bins(rates, Channel(Transform(Kind.LOG, floor=0.01), -1.0, 2.0), 7)
    with jax.enable_x64(True):
        np.testing.assert_allclose(schedule_tokens(bins), schedule_tokens_of(jnp.asarray(bins)), atol=1e-12)


@pytest.mark.parametrize("schedules", [False, True])
def test_weights_go_there_and_back(schedules):
    _, model = both(small("ode-rnn", "rk4", 0, schedules), 1)
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
