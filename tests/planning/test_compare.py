"""Schedules side by side: order, words for what was never tried, and what is refused."""

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, responding_forecaster, run_of

import lodestar
from lodestar.forecaster.known_schedules import judge
from lodestar.planning.compare import beyond, compare
from lodestar.runs import Direction
from lodestar.schedules import Schedule, parse


@pytest.mark.parametrize("direction", list(Direction))
def test_the_best_comes_first_whichever_way_is_better(direction):
    forecaster = responding_forecaster() if direction is Direction.MAX else responding_forecaster(24, Direction.MIN)
    words = ("constant:4e-4", "wsd:5e-3", "linear:3e-3")
    found = compare(forecaster, {each: parse(each, 50) for each in words})
    assert [outlook.name for outlook in found] == ["wsd:5e-3", "linear:3e-3", "constant:4e-4"]
    for outlook in found:
        assert outlook.lower < outlook.final < outlook.upper
        assert outlook.forecast.final_metric == pytest.approx((outlook.final, outlook.lower, outlook.upper))


def test_schedules_of_any_number_of_steps_are_compared():
    found = compare(responding_forecaster(), {str(n): parse("linear:3e-3:warmup=0", n) for n in (100, 4000)})
    assert found[0].final == pytest.approx(found[1].final, abs=2e-3)


def test_what_a_run_did_counts_for_extrapolation_and_what_it_will_not_do_does_not():
    forecaster = responding_forecaster()
    context = forecaster.context_of(run_of(drawn(600), 600), 0.5)
    rates = np.full(TOTAL, 2e-3)
    rates[:150] = 1.0
    assert beyond(forecaster, rates) and not beyond(forecaster, rates, context)
    assert beyond(forecaster, rates[::-1], context)
    assert not beyond(forecaster, np.full(TOTAL, 1e-6), context)


def test_none_and_nothing_but_zero_are_refused():
    with pytest.raises(ValueError, match="at least one schedule"):
        compare(responding_forecaster(), {})
    with pytest.raises(ValueError, match="'idle': its learning rate must be above zero somewhere"):
        compare(responding_forecaster(), {"idle": Schedule("idle", np.zeros(10))})


def test_the_same_from_the_door():
    forecaster, rates = responding_forecaster(), drawn(601).rates
    assert lodestar.what_if(forecaster, rates).final_metric[0] == pytest.approx(
        judge(forecaster, rates[None]).centre[0]
    )
    assert len(lodestar.plan(forecaster, 50).schedule) == 50
