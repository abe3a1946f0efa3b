"""A small set of runs and a forecaster nobody fitted, with two members that held runs out."""

import dataclasses

import pytest
from tests.curves import toy_runs

from lodestar.evaluate.contest import Contest
from lodestar.evaluate.exam import make_exam
from lodestar.testing import random_forecaster

HELD = (("cosine-0.001-0", "step-0.003-1"), ("onecycle-0.003-0", "constant-0.001-1", "step-0.001-0"))


@pytest.fixture(scope="session")
def runs():
    """16 runs: 4 shapes, 2 rates, 2 seeds."""
    return toy_runs()


@pytest.fixture(scope="session")
def new():
    """A forecaster that never heard of these runs."""
    return random_forecaster(seed=1, points=60, members=2)


@pytest.fixture(scope="session")
def fitted(new, runs):
    """The same, as if fitted to the runs: each member held some out."""
    held_out = [list(fold) for fold in HELD]
    return dataclasses.replace(new, facts={**new.facts, "names": [run.name for run in runs], "held_out": held_out})


@pytest.fixture(scope="session")
def contest(new, runs):
    """Seed 1 under test, seed 0 the past."""
    tested = runs.filter(lambda run: run.facts.seed == 1)
    return Contest(make_exam(new, tested), runs.filter(lambda run: run.facts.seed == 0))
