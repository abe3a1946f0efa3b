"""Schedule-free learning as an Optax transformation: alone, steered, and beside optax.contrib."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lodestar.adapters.optax import LodestarSchedule
from lodestar.schedule_free import POWER, share
from lodestar.schedule_free.optax import eval_params, schedule_free
from lodestar.testing import random_forecaster


def decided(scheduler: Any) -> int:
    return len(scheduler.decisions)


def test_late_weights_count_more_and_the_first_is_whole():
    parts = [share(step) for step in range(1, 200)]
    assert parts[0] == 1 and all(a > b for a, b in itertools.pairwise(parts))
    counts = [part * np.prod([1 - later for later in parts[at + 1 :]]) for at, part in enumerate(parts)]
    np.testing.assert_allclose(counts, np.arange(1, 200) ** POWER / np.sum(np.arange(1, 200) ** POWER))


def test_noise_is_averaged_away_at_a_constant_rate():
    form, plain = schedule_free(optax.sgd(0.2)), optax.sgd(0.2)
    keys = jax.random.split(jax.random.key(0), 2000)

    def walked(optimizer, read):
        def step(carry, key):
            params, state = carry
            grads = params + jax.random.normal(key, params.shape)
            moves, state = optimizer.update(grads, state, params)
            return (optax.apply_updates(params, moves), state), None

        start = jnp.ones(50)
        (params, state), _ = jax.lax.scan(step, (start, optimizer.init(start)), keys)
        return float(jnp.linalg.norm(read(params, state)))

    assert walked(form, lambda params, state: eval_params(state)) < walked(plain, lambda params, state: params) / 4


def test_it_is_steered_without_a_second_trace():
    schedule = LodestarSchedule(random_forecaster(seed=2, points=30), total_steps=40, preset="default")
    optimizer = schedule_free(optax.inject_hyperparams(optax.adamw)(learning_rate=schedule, b1=0.0))
    params: Any = jnp.ones(3)
    state, traces = optimizer.init(params), []

    @jax.jit
    def update(params, state):
        traces.append(1)
        moves, state = optimizer.update(2 * params, state, params)
        return optax.apply_updates(params, moves), state, jnp.sum(params**2)

    losses = []
    for step in range(1, 41):
        params, state, loss = update(params, state)
        losses.append(float(loss))
        state = schedule.steer(state, step, loss=loss)
    assert len(traces) == 1 and losses[-1] < losses[0] and decided(schedule.scheduler)


def test_weights_keep_their_precision():
    form = schedule_free(optax.sgd(0.1))
    params: Any = {"w": jnp.ones(3), "half": jnp.ones(2, jnp.bfloat16)}
    state = form.init(params)
    for _ in range(3):
        moves, state = form.update(params, state, params)
        params = optax.apply_updates(params, moves)
    for weights in (params, eval_params(state)):
        assert {name: one.dtype for name, one in weights.items()} == {"w": jnp.float32, "half": jnp.bfloat16}


def test_misuse_is_told():
    with pytest.raises(ValueError, match="exactly one ScheduleFreeState, found 0"):
        eval_params(optax.sgd(0.1).init(jnp.ones(2)))
    form = schedule_free(optax.sgd(0.1))
    with pytest.raises(ValueError, match="needs the weights"):
        form.update(jnp.ones(2), form.init(jnp.ones(2)))
    with pytest.raises(ValueError, match="power must be"):
        schedule_free(optax.sgd(0.1), power=-1)
