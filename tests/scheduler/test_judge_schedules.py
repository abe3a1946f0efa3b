"""Decisions among schedules, where the forecaster knows them: the initial plan, what is kept, what is replanned."""

import re
from typing import Any

import numpy as np
import pytest
from tests.responding import TOTAL, expected_loss, responding_forecaster

from lodestar.forecaster.known_schedules import judge
from lodestar.scheduler import Scheduler
from lodestar.scheduler.records.outcome import Outcome
from lodestar.testing import random_forecaster

KNOWN: dict[str, Any] = {"initial_plan": "search", "judge": "schedules"}


def steered(luck: float = 0.0, forecaster=None, harm=None, **options) -> Scheduler:
    """A job that follows the scheduler to its end; `harm(step)` multiplies its loss."""
    scheduler = Scheduler(forecaster or responding_forecaster(), total_steps=TOTAL, seed=0, **(KNOWN | options))
    rates = np.zeros(TOTAL)
    for step in range(1, TOTAL + 1):
        rates[step - 1] = scheduler.lr_at(step)
        loss = expected_loss(rates[:step])[-1] if step % 4 == 0 or step % 20 == 0 else None
        if loss is not None:
            loss *= np.exp(luck) * (harm(step) if harm else 1.0)
            scheduler.observe(step, loss=loss, metric=np.exp(-0.5 * loss) if step % 20 == 0 else None)
    return scheduler


def test_a_plain_initial_plan_has_its_own_forecast():
    high, low = (
        Scheduler(responding_forecaster(), TOTAL, initial_plan=f"linear:{peak}").decisions[0].predicted
        for peak in (1e-2, 1e-5)
    )
    assert high is not None
    assert low is not None
    assert abs(high - low) > 0.01


def test_the_initial_plan_is_the_best_of_many_schedules():
    scheduler = Scheduler(responding_forecaster(), total_steps=TOTAL, seed=0, **KNOWN)
    first = scheduler.decisions[0]
    assert first.outcome is Outcome.INITIAL_PLAN and "schedules, the first two dozen averaged" in first.note
    rates = scheduler.plan().rates
    final = judge(responding_forecaster(), rates[None]).centre[0]
    assert first.predicted == pytest.approx(final, abs=2e-3)


def test_steering_a_run_like_the_past_ones_does_no_harm_and_says_what_was_compared():
    scheduler, replayed = steered(), Scheduler(responding_forecaster(), total_steps=TOTAL, seed=0, **KNOWN).plan().rates
    assert expected_loss(scheduler.followed().rates)[-1] <= 1.005 * expected_loss(replayed)[-1]
    later = scheduler.decisions[1:]
    assert sum(decision.outcome is Outcome.KEPT for decision in later) >= len(later) / 2
    assert all("schedules for the rest were compared" in decision.note for decision in later)
    assert all("Forecast to end: the plan at 0." in decision.note for decision in later)
    assert all(re.search(r"To replace the plan takes a lead of \d[\d.e-]*", decision.note) for decision in later)
    assert later[-1].note.endswith("but it is too late in the run")


def test_a_live_forecast_follows_the_run():
    good, bad = steered(luck=-0.2), steered(luck=0.2)
    forecasts = [next(d for d in reversed(run.decisions) if d.forecast is not None).forecast for run in (good, bad)]
    finals = [
        np.exp(-0.5 * expected_loss(run.followed().rates)[-1] * np.exp(luck))
        for run, luck in ((good, -0.2), (bad, 0.2))
    ]
    assert forecasts == pytest.approx(finals, abs=0.02)
    assert finals[0] - finals[1] > 0.05


def test_the_papers_preset_and_an_old_forecaster_decide_by_latents():
    paper = Scheduler(responding_forecaster(), total_steps=TOTAL, seed=0, preset="paper")
    old = Scheduler(random_forecaster(seed=0), total_steps=TOTAL, seed=0)
    for scheduler in (paper, old):
        assert "schedules" not in scheduler.decisions[0].note


def test_the_same_seed_gives_the_same_run_after_a_restore():
    one = Scheduler(responding_forecaster(), total_steps=TOTAL, seed=0, **KNOWN)
    for step in range(1, 201):
        one.lr_at(step)
        one.observe(step, loss=1.0 / (1 + 0.01 * step), metric=0.5 if step % 20 == 0 else None)
    two = Scheduler(responding_forecaster(), total_steps=TOTAL, seed=0, **KNOWN)
    two.load_state_dict(one.state_dict())
    rest = range(201, TOTAL + 1)
    assert [one.lr_at(step) for step in rest] == [two.lr_at(step) for step in rest]
