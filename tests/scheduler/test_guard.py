from typing import Any

import numpy as np
import pytest

from lodestar.scheduler import Outcome, Scheduler
from lodestar.scheduler.safety.guard import Cut, spiked
from lodestar.testing import random_forecaster

TOTAL = 400
FORECASTER = random_forecaster(seed=5, points=40)
CALM: dict[str, Any] = {"hysteresis": 1e6}


def run(loss, stop: int = TOTAL, **options) -> Scheduler:
    one = Scheduler(FORECASTER, TOTAL, **(CALM | options))
    for step in range(1, stop + 1):
        one.lr_at(step)
        one.observe(step, loss=loss(step))
    return one


def spike(step: int) -> float:
    return 50.0 if 105 < step <= 110 else 1.7


def test_a_jump_of_the_loss_halves_the_rate_for_one_window():
    calm, cut = run(lambda step: 1.7), run(spike)
    for step in (1, 110, 131, TOTAL):
        assert cut.lr_at(step) == calm.lr_at(step)
    for step in (111, 120, 130):
        assert cut.lr_at(step) == pytest.approx(0.5 * calm.lr_at(step))
    found = [d for d in cut.decisions if d.outcome is Outcome.CUT]
    assert [(d.step, d.note) for d in found] == [(110, "times 0.5 from here")]


def test_a_loss_that_is_not_finite_cuts_too():
    cut = run(lambda step: float("nan") if step == 55 else 1.7)
    assert [d.step for d in cut.decisions if d.outcome is Outcome.CUT] == [60]
    assert any("the loss at step 55 is nan" in text for text in cut.warnings)


def test_a_dead_run_is_cut_four_times_and_no_further():
    cut = run(lambda step: float("nan"))
    calm = run(lambda step: 1.7)
    assert cut.lr_at(TOTAL) == pytest.approx(calm.lr_at(TOTAL) / 16)
    assert len([d for d in cut.decisions if d.outcome is Outcome.CUT]) == 4


def test_a_cut_never_goes_below_the_users_floor():
    floor = 0.9 * run(lambda step: 1.7).lr_at(112)
    assert run(spike, min_lr=floor).lr_at(112) == floor


def test_the_guard_can_be_turned_off():
    assert Outcome.CUT not in {d.outcome for d in run(spike, spike=None).decisions}
    assert Scheduler(FORECASTER, TOTAL, preset="paper").settings.spike is None


def test_a_cut_outlives_a_new_plan():
    quiet = run(lambda step: 1.7, 125, hysteresis=None, least_near=None, tolerance=500.0)
    cut = run(lambda step: 50.0 if 115 < step <= 120 else 1.7, 125, hysteresis=None, least_near=None, tolerance=500.0)
    assert cut.decisions[-2].outcome is Outcome.CUT
    assert cut.decisions[-1].outcome is Outcome.REPLANNED
    rates = [cut.lr_at(step) for step in (121, 140)]
    planned = cut.state_dict()["course"]["lr"]
    assert rates[1] == pytest.approx(0.5 * planned[2])
    assert quiet.lr_at(121) != rates[0]


def test_a_resume_in_the_middle_of_a_cut_is_exact():
    one = run(spike, 115)
    again = Scheduler(FORECASTER, TOTAL, **CALM)
    again.load_state_dict(one.state_dict())
    assert [again.lr_at(s) for s in range(116, 150)] == [one.lr_at(s) for s in range(116, 150)]


def test_a_jump_is_judged_against_the_usual_scatter():
    quiet = np.array([0.0, 0.01, -0.01, 0.0, 2.0])
    noisy = np.array([0.0, 1.0, -1.0, 0.5, 2.0])
    assert spiked(quiet, 1.5)
    assert not spiked(noisy, 1.5)
    assert not spiked(-quiet, 1.5)


def test_a_lasting_offset_from_the_forecast_is_no_jump():
    assert not spiked(np.full(9, 5.0), 1.5)


def test_too_few_points_to_judge_by():
    assert not spiked(np.array([]), 1.5)
    assert not spiked(np.array([0.0, 0.0, 9.0]), 1.5)
    assert not spiked(np.array([0.0, 0.0, 0.0, np.nan]), 1.5)


def test_cuts_add_up_and_run_out():
    first = Cut().deeper(0.5, 10, 5)
    assert first == Cut(0.5, 15)
    assert first.deeper(0.5, 12, 5) == Cut(0.25, 17)
    assert first.deeper(0.5, 15, 5) == Cut(0.5, 20)
