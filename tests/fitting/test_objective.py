import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lodestar.fitting import LatentODE, fit_settings
from lodestar.fitting.contexts import random_contexts
from lodestar.fitting.known import Batch
from lodestar.fitting.objective import Reader, objective, path_length
from lodestar.forecaster import Architecture

SHAPE = Architecture(latent=4, hidden=5, field_width=6, tokens=6, steps=5)


def _batch(seed=0, batch=3, points=20):
    rng = np.random.default_rng(seed)
    tokens = jnp.asarray(rng.normal(size=(batch, 6, 7)), jnp.float32)
    values = jnp.asarray(rng.normal(size=(batch, points, 3)), jnp.float32)
    return tokens, jnp.ones((batch, 6), bool), values


def test_masked_points_do_not_count_and_the_path_does():
    model = eqx.filter_jit(LatentODE)(SHAPE, key=jax.random.key(0))
    reader = Reader.on_grid(20, 5, jnp.float32)
    tokens, valid, values = _batch()
    mask = jnp.ones(values.shape, bool).at[:, 10:].set(False)
    wild = values.at[:, 10:].set(1e6)
    compiled = eqx.filter_jit(lambda m, batch: objective(m, batch, reader, 0.5))
    total, one = compiled(model, Batch(tokens, valid, values, mask))
    _, two = compiled(model, Batch(tokens, valid, wild, mask))
    assert float(one) == float(two)
    assert float(total) > float(one)  # the path penalty


def test_shrinking_the_latent_does_not_shorten_the_path():
    path = jnp.asarray(np.cumsum(np.random.default_rng(0).normal(size=(5, 30, 4)), axis=1))
    length = jax.jit(path_length)
    assert np.isclose(length(path), length(100 * path), rtol=1e-3)


def test_a_detour_makes_the_path_longer():
    line = np.linspace(0, 1, 31)[None, :, None] * np.ones((4, 1, 3)) + np.arange(4)[:, None, None]
    zigzag = line.copy()
    zigzag[:, 1::2] += 0.5
    length = jax.jit(path_length)
    assert length(zigzag) > 2 * length(line)


def _contexts(settings, totals):
    """Compiled whole, as a fit does it: piece by piece takes ten times as long."""
    compiled = jax.jit(functools.partial(random_contexts, settings=settings))
    return map(np.asarray, compiled(jax.random.key(0), jnp.asarray(totals, jnp.float32)))


def test_contexts_stay_inside_the_run_and_reach_all_of_it():
    settings = fit_settings("default", tokens=6, token_noise=0.0, token_shift=0.0)
    totals = np.zeros((400, 41, 6))
    totals[:, :, 3:] = np.arange(41.0)[None, :, None]
    tokens, valid = _contexts(settings, totals)
    times = tokens[..., 0][valid]
    assert times.min() >= 1 / 40
    assert times.min() < 0.1
    assert times.max() <= 1.0
    assert times.max() > 0.9
    np.testing.assert_allclose(tokens[..., 4:][valid], 1.0)


def test_noise_is_added_only_where_something_was_seen():
    settings = fit_settings("default", tokens=6)
    totals = np.zeros((8, 41, 6))
    totals[:, :, 3] = np.arange(41.0)[None]
    tokens, valid = _contexts(settings, totals)
    assert np.any(tokens[..., 1][valid] != 0)
    np.testing.assert_array_equal(tokens[..., 2:4], 0)
