"""Contexts whose schedule is known: what they show, and what counts."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.responding import drawn, runs

from lodestar.fitting import fit, fit_settings
from lodestar.fitting.contexts import random_contexts
from lodestar.fitting.dataset import prepare
from lodestar.fitting.known import Batch, RunArrays, run_arrays, with_schedules
from lodestar.forecaster import load
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.forecaster.tokens import running_totals

POINTS, BINS, SIZE = 40, 8, 20


@functools.cache
def made(**changes) -> tuple[Any, Any, RunArrays]:
    """A batch before and after, and its runs: run i has i everywhere, and its rate's bins too."""
    settings = fit_settings("default", tokens=BINS, token_noise=0.0, token_shift=0.0, **changes)
    values = np.broadcast_to(np.arange(1.0, SIZE + 1)[:, None, None], (SIZE, POINTS, 3))
    mask = np.ones(values.shape, bool)
    runs = RunArrays(values, mask, values[:, :BINS, :2], np.arange(SIZE) != 2)
    chosen = runs.pick(np.arange(SIZE), jnp.float32)
    totals = jnp.asarray(running_totals(values, mask), jnp.float32)

    def both(key):
        before = Batch(*random_contexts(key, totals, settings), chosen.values, chosen.mask)
        return before, with_schedules(key, before, chosen, totals, settings)

    before, after = jax.tree.map(np.asarray, jax.jit(both)(jax.random.key(3)))
    return before, after, runs


def test_a_share_of_the_batch_has_known_schedules_and_the_rest_is_as_it_was():
    before, after, _ = made(known=0.6)
    assert after.known.tolist() == [
        i < 12 and i != 2 for i in range(SIZE)
    ]  # the rate of run 2 was not logged to its end
    np.testing.assert_array_equal(after.tokens[~after.known], before.tokens[~after.known])
    np.testing.assert_array_equal(after.valid[~after.known], before.valid[~after.known])


def test_what_a_known_schedule_s_run_shows_begins_with_the_run():
    _, after, _ = made(known=1.0, unobserved=0.0, spliced=0.0)
    shown = [
        tokens[valid, 0] for tokens, valid in zip(after.tokens[after.known], after.valid[after.known], strict=True)
    ]
    first, last = np.array([times[0] for times in shown]), np.array([times[-1] for times in shown])
    assert (first <= 0.08).all()
    assert last.min() < 0.2
    assert last.max() > 0.5


def test_nothing_but_the_schedule_may_be_shown():
    _, after, _ = made(known=1.0, unobserved=1.0)
    assert not after.valid[after.known].any()


def test_a_spliced_schedule_is_another_s_from_a_moment_on_and_only_the_rate_counts_from_there():
    _, after, runs = made(known=1.0, unobserved=0.0, spliced=1.0)
    for row in np.flatnonzero(after.known & np.roll(runs.ends, 1)):
        own = after.values[row, :, LR] == runs.values[row, 0, LR]
        until = int(own.sum())
        assert 0 < until < POINTS
        assert own[:until].all()
        np.testing.assert_array_equal(after.values[row, until:, LR], runs.values[row - 1, until:, LR])
        np.testing.assert_array_equal(after.mask[row, :, :LR], np.repeat(own[:, None], 2, axis=1))
        assert after.mask[row, :, LR].all()
        assert after.tokens[row][after.valid[row]][:, 0].max() <= until / POINTS
        np.testing.assert_array_equal(
            after.schedule[row, :, 1], np.where(np.arange(BINS) < until * BINS // POINTS, row + 1, row or SIZE)
        )


def test_a_fit_that_knows_no_schedules_needs_none():
    data = prepare(runs(4))
    assert run_arrays(data, fit_settings("default")).bins.shape == (4, 0, 2)
    assert run_arrays(data, fit_settings("default", known=0.6)).bins.shape == (4, 30, 2)


def test_the_latent_ode_reads_schedules_where_the_fit_shows_them():
    assert fit_settings("default", known=0.6).architecture.schedules
    assert not fit_settings("default").architecture.schedules
    with pytest.raises(ValueError, match="there is no fit setting 'schedules'"):
        fit_settings("default", schedules=True)


def test_a_fit_that_shows_schedules_gives_a_forecaster_that_reads_them(tmp_path):
    small = {"latent": 6, "hidden": 8, "field_width": 8, "decoder_width": 8, "tokens": 8, "steps": 6}
    changes = {"known": 0.6, "averaging": 50, "updates": 200, "check_every": 100, "members": 2, **small}
    forecaster = fit(runs(24), seed=0, points=40, **changes)
    forecaster.save(tmp_path / "f.lodestar")
    forecaster = load(tmp_path / "f.lodestar")
    assert forecaster.reads_schedules and forecaster.response is not None
    assert np.all(forecaster.response.mixture.latent > 0)
    rates = np.stack([drawn(seed).rates for seed in range(100, 104)])
    found = forecaster.known_finals(rates)
    assert found.shape == (2, 4)
    assert np.ptp(found, axis=1).min() > 0
    assert not np.allclose(forecaster.known_finals(rates, forecaster.context_of(runs(1)[0], 0.5)), found)
