"""The final run of a tuning: what the user's function is given, and what is said of the steering."""

import json

import pytest
from tests.responding import TOTAL
from tests.tuning.jobs import HERE

from lodestar.schedules import parse
from lodestar.sweep.steered import FORECASTER, FUNCTION, SCALE, STEERING, train
from lodestar.testing import random_forecaster

PLAN = parse("linear:3e-3", TOTAL)


@pytest.fixture
def steered(tmp_path):
    """Run a function of the tuning's tests; what it returned, and the rates that were reported."""
    random_forecaster(seed=0).save(tmp_path / "made.lodestar")

    def run(function: str, file: str = "made.lodestar", **scales):
        rates: dict[int, float | None] = {}
        settings = {FUNCTION: f"{HERE}:{function}", FORECASTER: str(tmp_path / file), SCALE: json.dumps(scales)}

        def report(step, *, loss=None, metric=None, lr=None):
            rates[step] = lr

        given = {"schedule": PLAN, "seed": 0, "total_steps": TOTAL, "report": report, "settings": settings}
        return train(**given, **({"size": scales["width"]} if scales else {})), rates

    return run


def test_a_function_that_asks_as_it_goes_is_steered(steered):
    returned, rates = steered("as_it_goes")
    assert returned[STEERING].startswith("was steered: ") and returned["done"] > 0
    assert len(rates) == TOTAL // 4 and any(rate != PLAN(step) for step, rate in rates.items())


def test_a_function_that_reads_its_rates_first_gets_the_plan_and_that_is_said(steered):
    returned, rates = steered("sized", width=64.0)
    assert returned[STEERING].startswith("followed the plan: the function reads its rates before it reports")
    assert all(rate == pytest.approx(PLAN(step)) for step, rate in rates.items())


def test_without_the_forecasters_file_the_plan_is_followed_and_that_is_said(steered):
    returned, rates = steered("as_it_goes", file="elsewhere.lodestar")
    assert returned[STEERING] == "followed the plan: the forecaster's file is not on the machine it ran on"
    assert set(rates.values()) == {None}  # the recorder knows the plan's
