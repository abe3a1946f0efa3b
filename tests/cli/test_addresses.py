"""Commands that take a store take an address too."""

import json
import secrets

import pytest
from typer.testing import CliRunner

from lodestar.cli import app
from lodestar.runs import Direction, Run, RunStore, Series


@pytest.fixture
def address() -> str:
    """A store of five runs, in memory."""
    steps = range(1, 41)
    curve = Series(steps, [1 / step for step in steps])
    store = RunStore(f"memory://{secrets.token_hex(4)}/runs")
    store.add_many(Run(f"r{n}", curve, curve, Series(steps, [0.1 * n] * 40), Direction.MIN) for n in range(1, 6))
    return store.address


def test_runs_are_listed_removed_and_merged_at_an_address(address):
    result = CliRunner().invoke(app, ["runs", address, "--remove", "r1", "--compact", "--json"])
    told = json.loads(result.stdout)
    assert told["store"] == address
    assert [run["name"] for run in told["runs"]] == ["r2", "r3", "r4", "r5"]


def test_the_doctor_looks_at_an_address(address):
    assert json.loads(CliRunner().invoke(app, ["doctor", address, "--json"]).stdout)["runs"] == 5


@pytest.mark.parametrize("command", [["fit", "-o", "f.lodestar"], ["doctor"], ["runs"]])
def test_no_store_at_an_address_is_said_with_the_address_whole(command):
    result = CliRunner().invoke(app, [command[0], "memory://nothing/here", *command[1:]], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "there is no run store at memory://nothing/here" in " ".join(result.stderr.split())
