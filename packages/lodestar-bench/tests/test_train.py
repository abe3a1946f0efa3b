"""The training loop: one run is a pure function of its arguments, and what it logs is what happened."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.experimental.compilation_cache import compilation_cache

from lodestar.runs import Status
from lodestar_bench.kept_programs import keep_programs
from lodestar_bench.method import AbstractController, AbstractMethod, Optimizer
from lodestar_bench.methods import method
from lodestar_bench.optimizers.plain import plain
from lodestar_bench.tasks import problem
from lodestar_bench.train import train
from lodestar_bench.training import Training, points


@pytest.fixture(scope="module")
def digits():
    return problem("digits-mlp", "smoke")


class Told(AbstractController):
    """Writes down what it was asked and told."""

    def __init__(self, rate, every=None):
        self.rate, self.every, self.asked, self.told = rate, every, [], []

    def rates(self, first, count):
        self.asked.append((first, count))
        return np.full(count, self.rate)

    def observe(self, first, losses, metric, look):
        self.told.append((first, len(losses), metric))

    def facts(self):
        return {"looks": len(self.told)}


class Watched(AbstractMethod):
    """A constant rate with a controller that can be read afterwards."""

    name = title = "watched"
    group = "paper"

    def __init__(self, every=None, optimizer=None):
        self.every, self.made, self._optimizer = every, None, optimizer

    def grid(self, problem):
        return problem.recipe.rates

    def optimizer(self, problem, value):
        return self._optimizer or plain(problem.recipe)

    def controller(self, problem, value, *, seed, knowledge):
        self.made = Told(value, self.every)
        return self.made


def test_the_same_arguments_give_the_same_run_bit_for_bit(digits):
    one, other = (train(digits, method("cosine"), 1e-2, seed=3) for _ in range(2))
    assert one.run.loss == other.run.loss
    assert one.run.metric == other.run.metric
    assert one.test == other.test and one.test_at_end == other.test_at_end


def test_another_seed_gives_another_run(digits):
    one, other = (train(digits, method("cosine"), 1e-2, seed=seed) for seed in (3, 4))
    assert one.run.loss != other.run.loss


def test_stretches_of_any_length_make_the_same_run(digits):
    whole, cut = train(digits, Watched(), 1e-2, seed=0), train(digits, Watched(every=2), 1e-2, seed=0)
    assert whole.run.loss == cut.run.loss
    assert whole.test == cut.test


def test_the_loss_falls_and_the_model_learns(digits):
    outcome = train(digits, method("cosine"), 1e-2, seed=0)
    assert outcome.run.loss.values[-5:].mean() < 0.8 * outcome.run.loss.values[:5].mean()
    assert outcome.test.metric > 0.3
    assert outcome.status is Status.FINISHED


def test_what_is_logged(digits):
    run = train(digits, method("linear"), 1e-2, seed=1).run
    assert run.total_steps == digits.total_steps == run.loss.steps[-1] == run.metric.steps[-1] == run.lr.steps[-1]
    assert np.all(run.metric.steps[:-1] % digits.evaluate_every == 0)
    assert run.lr.steps[0] == 1
    assert run.peak_lr == pytest.approx(1e-2)
    assert run.facts.seed == 1 and run.facts.schedule == "linear" and run.facts.task == "digits-mlp"
    assert {"test_metric", "best_metric", "best_step", "seconds_train", "method", "value"} <= set(run.facts.extra)


def test_the_logged_rate_is_the_one_in_effect(digits):
    def update(grads, state, params, rate):
        return params, state, rate / 2

    halves = Optimizer(lambda params, rate: (), update, lambda params, state: params)
    run = train(digits, Watched(optimizer=halves), 1e-2, seed=0).run
    np.testing.assert_allclose(run.lr.values, 5e-3, rtol=1e-6)


def test_the_rate_of_a_plain_optimizer_is_logged_exactly(digits):
    assert set(train(digits, Watched(), 3e-3, seed=0).run.lr.values) == {3e-3}


def test_a_controller_is_told_of_every_update_once(digits):
    watched = Watched(every=5)
    outcome = train(digits, watched, 1e-2, seed=0)
    assert watched.made is not None
    told = watched.made.told
    assert [first for first, _, _ in told] == [1, *np.cumsum([count for _, count, _ in told])[:-1] + 1]
    assert sum(count for _, count, _ in told) == digits.total_steps
    assert all(count <= 5 for _, count, _ in told)
    assert [m for *_, m in told if m is not None] == list(outcome.run.metric.values)
    assert outcome.run.facts.extra["looks"] == len(told)


def test_the_test_metric_is_that_of_the_best_validation(digits):
    seen = {}

    def watch(step, look):
        seen[step] = (look.validation().metric, digits.evaluate(look.params, look.state, "test"))

    outcome = train(digits, method("constant"), 3e-2, seed=2, watch=watch)
    best = max(metric for metric, _ in seen.values())
    first = next(step for step, (metric, _) in seen.items() if metric == best)
    assert outcome.best_step == first
    assert outcome.validation.metric == best
    assert outcome.test == seen[first][1]
    assert outcome.test_at_end == seen[digits.total_steps][1]


def test_a_run_that_diverges_stops_and_says_so(digits):
    def update(grads, state, params, rate):
        grown = jax.tree.map(lambda p: jnp.where(state >= 6, jnp.nan, p), params)
        return grown, state + 1, rate

    breaks = Optimizer(lambda params, rate: jnp.int32(0), update, lambda params, state: params)
    outcome = train(digits, Watched(optimizer=breaks), 1e-2, seed=0)
    assert outcome.status is Status.DIVERGED
    assert outcome.run.loss.steps[-1] == 8 < digits.total_steps == outcome.run.total_steps
    assert math.isnan(outcome.run.loss.values[-1])
    assert math.isfinite(outcome.test.metric)
    assert math.isnan(outcome.test_at_end.metric)


def test_weights_ruined_by_the_last_update_are_noticed(digits):
    def update(grads, state, params, rate):
        broken = state + 1 >= digits.total_steps
        return jax.tree.map(lambda p: jnp.where(broken, jnp.nan, p), params), state + 1, rate

    breaks = Optimizer(lambda params, rate: jnp.int32(0), update, lambda params, state: params)
    outcome = train(digits, Watched(optimizer=breaks), 1e-2, seed=0)
    assert outcome.status is Status.DIVERGED
    assert outcome.best_step < digits.total_steps


def test_a_run_is_judged_by_the_evaluation_weights(digits):
    base = plain(digits.recipe)
    zeros = Optimizer(base.init, base.update, lambda params, state: jax.tree.map(jnp.zeros_like, params))
    outcome = train(digits, Watched(optimizer=zeros), 1e-2, seed=0)
    assert outcome.test.loss == pytest.approx(math.log(10), rel=1e-5)


def test_reports_come_as_it_goes(digits):
    reports = []
    run = train(digits, method("cosine"), 1e-2, seed=0, report=lambda step, **what: reports.append((step, what))).run
    assert [step for step, _ in reports] == list(run.metric.steps)
    assert [what["metric"] for _, what in reports] == list(run.metric.values)


def test_weights_are_kept_on_request_only(digits):
    assert train(digits, Watched(), 1e-2, seed=0).params is None
    kept = train(digits, Watched(), 1e-2, seed=0, keep_weights=True)
    assert digits.evaluate(kept.params, kept.state, "test") == kept.test_at_end


def test_seconds_add_up(digits):
    seconds = train(digits, Watched(), 1e-2, seed=0).seconds
    assert min(seconds.train, seconds.evaluate, seconds.controller) >= 0
    assert seconds.total == seconds.train + seconds.evaluate + seconds.controller


@pytest.mark.parametrize("rates", [[], [1e-3] * 1000, [[1e-3]], [math.nan], [-1.0], [math.inf]])
def test_rates_that_make_no_sense_are_refused(digits, rates):
    training = Training(digits, plain(digits.recipe), seed=0, first_rate=1e-3)
    with pytest.raises(ValueError, match="rate"):
        training.advance(rates)


def test_a_method_that_gives_too_few_rates_is_told(digits):
    short = Watched()
    made = short.controller

    def controller(*args, **options):
        told = made(*args, **options)
        told.rates = lambda first, count: np.full(1, 1e-3)
        return told

    short.controller = controller
    with pytest.raises(ValueError, match="must give as many rates"):
        train(digits, short, 1e-2, seed=0)


def test_cosine_beats_constant_on_digits():
    """Means of eight seeds at a rate where a constant one is too noisy at the end."""
    digits = problem("digits-mlp", "cpu")
    means = {
        name: np.mean([train(digits, method(name), 3e-2, seed=seed).test.metric for seed in range(8)])
        for name in ("constant", "cosine")
    }
    assert means["cosine"] > means["constant"]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5000))
def test_points_end_at_the_end_and_are_about_a_hundred(total):
    found = points(total)
    assert found[-1] == total
    assert np.all(np.diff(found) > 0)
    assert len(found) <= 151 and (len(found) >= 67 or len(found) == total)


def test_programs_are_kept_on_disk_unless_the_user_named_a_place_to_jax(tmp_path, monkeypatch):
    settings = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in settings}
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "the user's"))
    keep_programs(tmp_path / "ours", least_seconds=0)
    assert {name: getattr(jax.config, name) for name in settings} == before
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    try:
        keep_programs(tmp_path / "kept", least_seconds=0)
        assert float(jax.jit(lambda x: jnp.sin(x) + 42)(1.0)) > 42
        assert any((tmp_path / "kept").iterdir())
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


def test_a_rate_that_blows_up_with_its_run_is_recorded_as_diverged(digits):
    """A hypergradient method moves its own rate, to NaN where the loss is."""
    outcome = train(digits, method("hypergradient"), 1e6, seed=0)
    assert outcome.status is Status.DIVERGED
    assert np.isfinite(outcome.run.lr.values).all() and outcome.run.lr.steps[0] == 1
