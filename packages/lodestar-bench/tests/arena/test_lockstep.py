"""Many runs in one program: each gives the numbers that the bench's own training gives for its seed."""

import copy
import math

import numpy as np
import pytest

from lodestar.runs import Status
from lodestar.testing.forecasters import random_forecaster
from lodestar_bench._errors import BenchError
from lodestar_bench.arena.crowd import Crowd
from lodestar_bench.arena.lockstep import play
from lodestar_bench.method import AbstractController
from lodestar_bench.methods import method
from lodestar_bench.optimizers.plain import plain
from lodestar_bench.tasks import problem
from lodestar_bench.train import train

SEEDS = (3, 4, 5)


@pytest.fixture(scope="module")
def digits():
    return problem("digits-mlp", "smoke")


def together(digits, name, values, *, knowledge=None, **options):
    shape = method(name)
    controllers = [
        shape.controller(digits, value, seed=seed, knowledge=knowledge)
        for value, seed in zip(values, SEEDS, strict=True)
    ]
    names = [f"run {seed}" for seed in SEEDS]
    return play(digits, shape.optimizer(digits, values[0]), controllers, SEEDS, names, **options)


@pytest.fixture(scope="module")
def alone(digits):
    return [train(digits, method("cosine"), 1e-2, seed=seed) for seed in SEEDS]


def test_runs_in_turn_are_the_benchs_own_bit_for_bit(digits, alone):
    """Two lanes for three runs: one is not full."""
    for one, other in zip(together(digits, "cosine", [1e-2] * 3, lanes=2, side_by_side=False), alone, strict=True):
        assert (one.test, one.test_at_end, one.validation) == (other.test, other.test_at_end, other.validation)
        assert one.best_step == other.best_step
        assert one.run.loss == other.run.loss and one.run.metric == other.run.metric and one.run.lr == other.run.lr


def test_runs_side_by_side_are_the_benchs_own_within_rounding(digits, alone):
    for one, other in zip(together(digits, "cosine", [1e-2] * 3, lanes=1, side_by_side=True), alone, strict=True):
        np.testing.assert_allclose(one.run.loss.values, other.run.loss.values, rtol=1e-3)
        assert one.run.lr == other.run.lr
        assert one.test.metric == pytest.approx(other.test.metric, abs=0.01)


def test_a_steered_run_decides_as_it_does_alone(digits, tmp_path):
    path = tmp_path / "forecaster.lodestar"
    random_forecaster(seed=1, points=40).save(path)
    found = together(digits, "lodestar", [math.nan] * 3, knowledge=path, lanes=2)
    other = train(digits, method("lodestar"), math.nan, seed=SEEDS[1], knowledge=path)
    assert found[1].run.lr == other.run.lr and found[1].test == other.test
    decided = [one.run.facts.extra["decisions"] for one in (found[1], other)]
    assert decided[0] == decided[1] == 20


def test_a_run_that_diverges_stops_alone(digits, alone):
    found = together(digits, "cosine", [1e-2, 1e30, 1e-2], lanes=2)
    lost = train(digits, method("cosine"), 1e30, seed=SEEDS[1])
    assert [one.status for one in found] == [Status.FINISHED, Status.DIVERGED, Status.FINISHED]
    assert found[1].run.last_step == lost.run.last_step and math.isnan(found[1].test_at_end.metric)
    assert found[2].test == alone[2].test and found[2].run.loss == alone[2].run.loss


class Curious(AbstractController):
    """Looks inside the model now and then."""

    every = 7

    def __init__(self):
        self.seen = []

    def rates(self, first, count):
        return np.full(count, 1e-2)

    def observe(self, first, losses, metric, look):
        self.seen.append((first, len(losses), metric, look))


def test_a_controller_is_told_when_it_wishes_and_may_look_inside(digits):
    one = Curious()
    play(digits, plain(digits.recipe), [one, Curious(), Curious()], SEEDS, ["a", "b", "c"], lanes=2)
    places = {first + count - 1 for first, count, _, _ in one.seen}
    assert places == {
        step
        for step in range(1, digits.total_steps + 1)
        if step % 7 == 0 or step % digits.evaluate_every == 0 or step == digits.total_steps
    }
    assert one.seen[-1][2] == pytest.approx(one.seen[-1][3].validation().metric)
    assert one.seen[-1][3].outputs().shape[1] == 10


def test_rates_that_are_none_are_refused(digits):
    one = Curious()
    one.rates = lambda first, count: np.full(count + (count > 1), 1e-2)
    with pytest.raises(ValueError, match="as many finite numbers"):
        play(digits, plain(digits.recipe), [one], [0], ["run"])


def test_a_task_with_convolutions_is_sent_to_the_bench(digits):
    other = copy.copy(digits)
    other.convolutional = True
    with pytest.raises(BenchError, match=r"convolutions.*Fix: .*bench table1"):
        Crowd(other, plain(other.recipe), [0], [1e-3])
