import pytest
from tests.responding import runs

from lodestar.pruning import Pruner
from lodestar.runs import Run


@pytest.fixture(scope="session")
def past() -> list[Run]:
    return runs(12)


@pytest.fixture(scope="session")
def learned(past) -> Pruner:
    """A pruner that has learned from a dozen runs of different schedules."""
    pruner = Pruner()
    pruner.learn(past)
    return pruner
