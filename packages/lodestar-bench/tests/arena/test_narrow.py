"""Sweep small, steer big, in the arena: what is learned and tuned on a narrower network, judged on the full one."""

import functools

import jax
import pytest

from lodestar.testing.forecasters import random_forecaster
from lodestar_bench._errors import BenchError
from lodestar_bench.arena.contestant import Baseline, Replay, Sweep, Variant
from lodestar_bench.arena.home import ArenaHome
from lodestar_bench.arena.judge import Judge
from lodestar_bench.methods import method
from lodestar_bench.tasks import narrower, problem
from lodestar_bench.train import train

SMALL = Sweep(runs=6, narrower=4)


@pytest.fixture
def judge(tmp_path):
    home = ArenaHome.of(tmp_path, "digits-mlp", "smoke")
    return Judge(
        problem("digits-mlp", "smoke"), home, lanes=1, narrower=functools.partial(narrower, "digits-mlp", "smoke")
    )


def test_a_narrower_problem_has_the_same_data_and_a_smaller_network():
    whole, small = problem("digits-mlp", "smoke"), narrower("digits-mlp", "smoke", 2)
    weights = [max(leaf.shape[-1] for leaf in jax.tree.leaves(one.begin(0)[0])) for one in (whole, small)]
    assert weights == [16, 10]  # the widest layer: the hidden ones, the ten classes
    assert small.total_steps == whole.total_steps
    assert train(small, method("cosine"), 0.03, seed=1).test.metric > 0.15


def test_a_method_tuned_narrow_is_judged_on_the_full_network(judge):
    found = judge.judge(Baseline("cosine", narrower=4), 2)
    assert found.name.endswith("tuned narrow")
    value = float(found.name.split()[1])
    assert found.tests[0] == train(judge.problem, method("cosine"), value, seed=1000).test.metric
    small = {run.name for run in judge.at(4).home.runs.list()}
    assert len(small) == 25 and all(name.startswith("tune/cosine/") for name in small)
    assert not any(run.name.startswith("tune/") for run in judge.home.runs.list())


def test_a_forecaster_of_the_narrow_network_steers_the_full_one(judge):
    random_forecaster(seed=1, points=40).save(judge.at(4).place_of(Variant(sweep=SMALL)))
    found = judge.judge(Variant(sweep=SMALL), 2)
    assert found.identity["sweep"]["narrower"] == 4
    assert len(judge.home.runs.list()) == 2 and not judge.at(4).home.runs.exists()
    assert found.facts["held_25"] in (0.0, 0.5, 1.0)


def test_the_winner_of_the_narrow_sweep_is_replayed_on_the_full_network(judge):
    found = judge.judge(Replay(SMALL), 2)
    assert found.name == "winner of the sweep (narrow), replayed"
    assert len(judge.at(4).home.runs.list()) == 6 and len(judge.home.runs.list()) == 2


def test_a_sweep_of_the_full_network_keeps_its_identity():
    assert "narrower" not in Sweep().identity()
    assert Sweep(narrower=4).identity() != Sweep().identity()


def test_a_task_without_a_narrower_network_is_told():
    with pytest.raises(BenchError, match="no narrower network"):
        narrower("fmnist-cnn", "smoke", 4)
