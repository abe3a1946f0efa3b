"""What every method must do: one suite, each method of `names()` through the same checks."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.runs import Status
from lodestar.testing.forecasters import random_forecaster
from lodestar_bench._errors import BenchError
from lodestar_bench.method import AbstractMethod
from lodestar_bench.methods import method, names
from lodestar_bench.tasks import problem
from lodestar_bench.train import train
from lodestar_bench.training import Look, Training

EVERY = names()
PLAIN = ("constant", "cosine", "onecycle", "step", "linear", "wsd", "plateau", "greedy")
LEARNED = tuple(name for name in EVERY if method(name).learns != "nothing")


@pytest.fixture(scope="module")
def digits():
    return problem("digits-mlp", "smoke")


@pytest.fixture(scope="module")
def knowledge(digits, tmp_path_factory):
    """A function of a name: the file that a learned method steers by, made once."""
    folder, made = tmp_path_factory.mktemp("knowledge"), {}

    def of(name):
        if name not in made and name in LEARNED:
            made[name] = folder / name
            if method(name).learns == "from runs":
                random_forecaster(seed=0, points=50).save(made[name])
            else:
                allowed = 6 if name == "lodestar-tune-steered" else 2  # a fit takes four runs and counts as one
                method(name).learn(digits, made[name], seed=0, runs=None, allowed_runs=allowed)
        return made.get(name)

    return of


@pytest.fixture(scope="module", params=EVERY)
def entrant(request, digits, knowledge):
    """A method, the middle of its grid, and a function that makes a controller."""
    under_test: AbstractMethod = method(request.param)
    grid = under_test.grid(digits)
    value = grid[len(grid) // 2] if grid else math.nan

    def controller(seed=0):
        return under_test.controller(digits, value, seed=seed, knowledge=knowledge(request.param))

    return under_test, value, controller


@pytest.fixture(scope="module")
def outcome(entrant, digits, knowledge):
    """One whole run of each."""
    under_test, value, _ = entrant
    return train(digits, under_test, value, seed=3, knowledge=knowledge(under_test.name))


def broken_look(digits):
    """A model that has blown up."""
    training = Training(digits, method("constant").optimizer(digits, 0.1), seed=0, first_rate=0.1)
    params, state = digits.begin(0)
    return Look(training, jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), params), state)


def test_it_is_called_what_it_is_registered_as(entrant):
    under_test, _, _ = entrant
    assert under_test.name in EVERY
    assert under_test.title and under_test.group in ("paper", "modern", "ours")


def test_grid_has_five_positive_values_or_none_where_it_learns(entrant, digits):
    under_test, _, _ = entrant
    grid = under_test.grid(digits)
    assert len(grid) == (5 if under_test.learns == "nothing" else 0)
    assert all(value > 0 for value in grid)
    assert list(grid) == sorted(set(grid))


def test_one_optimizer_serves_the_whole_grid(entrant, digits):
    under_test, value, _ = entrant
    assert {under_test.optimizer(digits, each) for each in (value, *under_test.grid(digits))} == {
        under_test.optimizer(digits, value)
    }


def test_rates_are_as_many_as_asked_finite_and_not_negative(entrant, digits):
    _, _, controller = entrant
    for first, count in ((1, 1), (1, digits.evaluate_every), (1, digits.total_steps)):
        rates = controller().rates(first, count)
        assert rates.shape == (count,)
        assert np.isfinite(rates).all() and (rates >= 0).all()


def test_a_run_goes_to_its_last_update_and_learns(outcome, digits):
    run = outcome.run
    assert run.status is Status.FINISHED
    assert run.lr.steps[-1] == run.loss.steps[-1] == run.metric.steps[-1] == digits.total_steps
    assert np.isfinite(run.lr.values).all() and (run.lr.values >= 0).all()
    assert run.loss.values[-1] < run.loss.values[0]


def test_the_same_seed_gives_the_same_run(entrant, outcome, digits, knowledge):
    under_test, value, _ = entrant
    again = train(digits, under_test, value, seed=3, knowledge=knowledge(under_test.name))
    for series in ("loss", "metric", "lr"):
        np.testing.assert_array_equal(getattr(again.run, series).values, getattr(outcome.run, series).values)
    assert again.test == outcome.test


def test_losses_that_are_no_numbers_are_survived(entrant, digits):
    _, _, controller = entrant
    flown, look, every = controller(), broken_look(digits), digits.evaluate_every
    for first in range(1, digits.total_steps - every, every):
        rates = flown.rates(first, every)
        assert np.isfinite(rates).all() and (rates >= 0).all()
        flown.observe(first, np.full(every, np.nan), math.nan, look)


def test_what_was_handed_out_is_not_changed_by_what_is_observed(entrant, digits):
    _, _, controller = entrant
    flown, look, every = controller(), broken_look(digits), digits.evaluate_every
    handed = [flown.rates(1, every)]
    kept = [rates.copy() for rates in handed]
    for first in range(1, digits.total_steps - every, every):
        flown.observe(first, np.full(every, 2.0 + first), 0.1, look)
        handed.append(flown.rates(first + every, every))
        kept.append(handed[-1].copy())
    for now, then in zip(handed, kept, strict=True):
        np.testing.assert_array_equal(now, then)


def test_facts_are_scalars(entrant, outcome, digits):
    _, _, controller = entrant
    flown = controller()
    flown.observe(1, np.ones(digits.evaluate_every), 0.5, broken_look(digits))
    assert all(isinstance(fact, str | int | float | bool) for fact in flown.facts().values())
    assert set(flown.facts()) <= set(outcome.run.facts.extra)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_methods_share_one_optimizer(name, digits):
    assert method(name).optimizer(digits, 0.1) is method("constant").optimizer(digits, 0.2)


@pytest.mark.parametrize("name", LEARNED)
def test_a_learned_method_without_its_file_says_how_to_make_one(name, digits):
    with pytest.raises(BenchError, match=f"'{name}'.*none was given. Fix: knowledge=.*learn"):
        method(name).controller(digits, math.nan, seed=0, knowledge=None)


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in ("plateau", "greedy")])
@settings(max_examples=20, deadline=None)
@given(cuts=st.sets(st.integers(2, 55)), value=st.floats(1e-5, 10))
def test_however_a_run_is_cut_a_schedule_is_the_same(name, digits, cuts, value):
    controller = method(name).controller(digits, value, seed=0, knowledge=None)
    edges = [1, *sorted(cuts), digits.total_steps + 1]
    parts = [controller.rates(a, b - a) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(parts), controller.rates(1, digits.total_steps))
