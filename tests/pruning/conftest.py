import pytest
from tests.pruned import learned_pruner
from tests.responding import runs

from lodestar.pruning import Pruner
from lodestar.runs import Run


@pytest.fixture(scope="session")
def past() -> list[Run]:
    return runs(12)


@pytest.fixture(scope="session")
def learned() -> Pruner:
    return learned_pruner()
