"""Caps hold for every param group, in steps of any kind, and no group's rate is ever not finite."""

import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lodestar.adapters.torch import LodestarLR
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster

STEPS = 60
FORECASTER = random_forecaster(seed=2, points=30)
SURVIVED = float(FORECASTER.ranges.lr_max)


def an_optimizer(*rates: float) -> torch.optim.Optimizer:
    return torch.optim.SGD([{"params": [nn.Parameter(torch.ones(1))], "lr": rate} for rate in rates], lr=rates[0])


def used(scheduler: LodestarLR) -> list[list[float]]:
    """The rates of every group at every update of a run, each update and each metric told."""
    found = []
    for step in range(1, STEPS + 1):
        found.append([float(group["lr"]) for group in scheduler.optimizer.param_groups])
        scheduler.optimizer.step()
        scheduler.step(loss=2.0 - step / STEPS)
        if step % 6 == 0:
            scheduler.observe(metric=step / 100)
    return found


def test_the_cap_given_holds_for_every_group():
    scheduler = LodestarLR(an_optimizer(1e-5, 1e-3), FORECASTER, STEPS, max_lr=0.005)
    rates = used(scheduler)
    assert max(map(max, rates)) == 0.005
    assert max(rate for rate, _ in rates) < 0.005


def test_the_cap_given_holds_for_a_group_that_was_made_above_it():
    scheduler = LodestarLR(an_optimizer(1e-3, 1.0), FORECASTER, STEPS, max_lr=0.02)
    assert max(map(max, used(scheduler))) == 0.02


def test_without_a_cap_no_group_leaves_both_its_own_rate_and_what_runs_survived():
    with pytest.warns(UserWarning, match=r"param group 1 has 1e\+04 times.*held at 0.1\. Fix: reference_group=1"):
        scheduler = LodestarLR(an_optimizer(1e-5, 1e-1, 1e-3), FORECASTER, STEPS)
    rates = used(scheduler)
    assert [max(column) for column in zip(*rates, strict=True)][1:] == [1e-1, SURVIVED]
    assert sum("is held at" in text for text in scheduler.warnings) == 1


def test_the_lower_cap_holds_for_every_group_but_a_frozen_one():
    scheduler = LodestarLR(an_optimizer(1e-3, 1e-5, 0.0), FORECASTER, STEPS, min_lr=1e-4)
    for first, second, frozen in used(scheduler):
        assert first >= 1e-4 <= second
        assert frozen == 0.0


def test_the_group_named_is_the_one_the_plan_is_for():
    scheduler = LodestarLR(an_optimizer(1e-5, 1e-1), FORECASTER, STEPS, reference_group=1)
    assert scheduler.optimizer.param_groups[1]["lr"] == scheduler.followed().lr_at(1)
    assert max(max(rates) for rates in used(scheduler)) <= SURVIVED


def test_shadow_mode_leaves_every_group_to_the_base_schedule():
    scheduler = LodestarLR(
        an_optimizer(1e-5, 1e-1), FORECASTER, STEPS, mode="shadow", base=lambda step: 1e-5, max_lr=1e-6
    )
    assert used(scheduler) == [[1e-5, 1e-5 * (1e-1 / 1e-5)]] * STEPS


@pytest.mark.parametrize("stop", [11, 12, 30])
def test_caps_given_on_resume_hold_for_the_next_update_already(stop):
    first = LodestarLR(an_optimizer(1e-3, 2e-3), FORECASTER, STEPS)
    for _ in range(stop):
        first.optimizer.step()
        first.step(loss=1.5)
    again = LodestarLR(an_optimizer(1e-3, 2e-3), FORECASTER, STEPS, max_lr=2e-4)
    again.load_state_dict(first.state_dict())
    for _ in range(stop, STEPS):
        assert max(float(group["lr"]) for group in again.optimizer.param_groups) <= 2e-4
        again.optimizer.step()
        again.step(loss=1.5)


rates = st.floats(0, 1e300) | st.sampled_from([0.0, 1e-320, 1e-5, 1e-1, 1e300, math.inf, math.nan])


@settings(max_examples=60, deadline=None)
@given(
    first=st.floats(1e-320, 1e300),
    groups=st.lists(rates, max_size=3),
    later=rates,
    base=rates,
    options=st.sampled_from([{}, {"max_lr": 1e-4}, {"min_lr": 1e-4}, {"mode": "shadow"}]),
)
def test_no_rate_of_any_group_is_ever_not_finite(first, groups, later, base, options):
    def plain(step: int) -> float:
        return 1e-3 if step == 1 else base

    optimizer = an_optimizer(first, *groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler = LodestarLR(optimizer, Scheduler(FORECASTER, STEPS, base=plain, **options))
        for step in range(1, 12):
            optimizer.step()
            scheduler.step(loss=1.5)
            if step == 5:
                optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": later})
                scheduler.step()
            for group in optimizer.param_groups:
                assert math.isfinite(group["lr"]) and group["lr"] >= 0
                if "max_lr" in options:
                    assert group["lr"] <= 1e-4
