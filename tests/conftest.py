"""What every test here shares: a steady ground (`tests.steady`), and runs made on the spot."""

import pytest
from tests.made_runs import RunMaker, made_run
from tests.steady import pytest_runtest_protocol as pytest_runtest_protocol


@pytest.fixture
def make_run() -> RunMaker:
    """Makes healthy runs: `made_run`."""
    return made_run
