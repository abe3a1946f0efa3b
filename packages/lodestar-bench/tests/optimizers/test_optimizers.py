"""The recipe's optimizer, Prodigy and Mechanic: against PyTorch and Optax, step for step."""

from typing import Any

import jax
import numpy as np
import optax
import pytest
import torch
from optax import contrib

from bench_testing.bowl import ADAM, ADAMW, SGD, START, assert_same, descend, gradient, torch_path
from lodestar_bench import optimizers as optimizers
from lodestar_bench.problem import TrainingRecipe

RATES = 0.05 * np.cos(np.linspace(0, 1.5, 25))
FORMS = {
    "plain": optimizers.plain,
    "schedule-free": optimizers.schedule_free,
    "prodigy": optimizers.prodigy,
    "mechanic": optimizers.mechanic,
    "hypergradient": lambda recipe: optimizers.hypergradient(recipe, 0.01),
}


def l2(recipe: TrainingRecipe) -> TrainingRecipe:
    """Adam with a weight decay that is part of the gradient."""
    return TrainingRecipe("adam", recipe.rates, weight_decay=0.02)


@pytest.mark.parametrize(
    ("recipe", "make"),
    [
        (ADAMW, lambda params: torch.optim.AdamW(params, weight_decay=1e-2)),
        (ADAM, lambda params: torch.optim.Adam(params)),
        (l2(ADAM), lambda params: torch.optim.Adam(params, weight_decay=0.02)),
        (SGD, lambda params: torch.optim.SGD(params, lr=1, momentum=0.9, nesterov=True, weight_decay=1e-2)),
    ],
)
def test_plain_equals_torch(recipe, make):
    ours = descend(optimizers.plain(recipe), RATES)
    for (params, _, _), expected in zip(ours, torch_path(make, RATES), strict=True):
        assert_same(params, expected, rtol=1e-7)


def test_the_rate_in_effect_is_the_rate_asked_for():
    np.testing.assert_array_equal([used for _, _, used in descend(optimizers.plain(ADAMW), RATES)], RATES)


@pytest.mark.parametrize("recipe", [ADAMW, ADAM, SGD], ids=lambda recipe: recipe.optimizer)
@pytest.mark.parametrize("form", FORMS)
def test_a_recipe_has_one_optimizer_of_each_form(form, recipe):
    same = TrainingRecipe(**{name: getattr(recipe, name) for name in recipe.__dataclass_fields__})
    assert FORMS[form](recipe) is FORMS[form](same)


@pytest.mark.parametrize("form", FORMS)
def test_the_rate_is_traced_and_the_state_keeps_its_form(form):
    """What a compiled loop asks for: no Python number is made of the rate, shapes and types stay as they are."""
    optimizer = FORMS[form](ADAMW)
    params = jax.tree.map(lambda leaf: leaf.astype(np.float32), START)
    state = jax.eval_shape(optimizer.init, params, np.float32(0.1))
    after, kept, used = jax.eval_shape(optimizer.update, params, state, params, np.float32(0.1))
    assert used.shape == () and used.dtype == np.float32
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), kept) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), state
    )
    assert jax.tree.map(np.shape, after) == jax.tree.map(np.shape, params)


def test_prodigy_is_optax_and_logs_distance_times_multiplier():
    ours = descend(optimizers.prodigy(ADAMW), np.full(30, 2.0))
    with jax.enable_x64(True):
        reference = contrib.prodigy(2.0, betas=(0.9, 0.999), weight_decay=1e-2)
        params = jax.tree.map(jax.numpy.asarray, START)
        state: Any = reference.init(params)
        update = jax.jit(reference.update)
        for expected, _, used in ours:
            assert used == pytest.approx(float(state.estim_lr) * 2.0)
            moves, state = update(gradient(params), state, params)
            params = optax.apply_updates(params, moves)
            assert_same(params, expected)
    assert ours[-1][2] > 100 * ours[0][2], "the estimate should have grown"


def test_mechanic_is_optax_and_logs_scale_times_base_rate():
    rates = np.linspace(1.0, 0.1, 30)
    ours = descend(optimizers.mechanic(SGD), rates)
    with jax.enable_x64(True):
        schedule = lambda count: jax.numpy.asarray(rates)[count]  # noqa: E731
        inner = optax.chain(optax.add_decayed_weights(1e-2), optax.sgd(schedule, momentum=0.9, nesterov=True))
        reference = contrib.mechanize(inner)
        params = jax.tree.map(jax.numpy.asarray, START)
        state: Any = reference.init(params)
        update = jax.jit(reference.update)
        for (expected, _, used), rate in zip(ours, rates, strict=True):
            moves, state = update(gradient(params), state, params)
            params = optax.apply_updates(params, moves)
            assert_same(params, expected)
            assert used == pytest.approx(float(np.sum(state.s)) * rate)
    assert ours[-1][2] > 10 * ours[0][2], "the scale should have grown"
