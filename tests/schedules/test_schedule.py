"""One noun for a learning-rate curve: dense or through knots, it reads the same, and its old names work."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lodestar.schedules import Plan, Schedule, read_polyline

RATE = st.floats(0, 1, allow_subnormal=False)


@given(
    points=st.lists(st.tuples(st.floats(-5, 60), RATE), min_size=1, max_size=12),
    doubled=st.integers(0, 11),
    first=st.integers(1, 20),
    length=st.integers(1, 50),
)
def test_all_rates_at_once_are_those_of_each_step_to_the_last_bit(points, doubled, first, length):
    knots = sorted(round(step) if number % 2 else step for number, (step, _) in enumerate(points))
    knots.insert(doubled % len(knots), knots[doubled % len(knots)])  # a jump
    rates = [rate for _, rate in points] + [0.5]
    schedule = Schedule("s", rates, knots=knots, first_step=first, last_step=first + length - 1)
    steps = range(first, first + length)
    assert schedule.rates.tolist() == [read_polyline(knots, rates, step) for step in steps]
    assert [schedule(step) for step in steps] == [schedule.lr_at(step) for step in steps] == schedule.rates.tolist()


def test_a_rate_for_every_step_may_begin_anywhere():
    schedule = Schedule("late", [0.3, 0.2, 0.1], first_step=5)
    assert (schedule.first_step, schedule.last_step, len(schedule)) == (5, 7, 3)
    assert [schedule(step) for step in (1, 5, 6, 7, 9)] == [0.3, 0.3, 0.2, 0.1, 0.1]


def test_a_dense_schedule_is_written_and_read_back(tmp_path):
    schedule = Schedule("mine", [0.3, 0.2, 0.1])
    schedule.to_json(tmp_path / "s.json")
    again = Schedule.from_json(tmp_path / "s.json")
    assert again == schedule and hash(again) == hash(schedule)
    assert again != Schedule("mine", [0.3, 0.2, 0.2]) and again != Schedule("other", [0.3, 0.2, 0.1])


def test_plan_is_the_old_name_of_a_schedule_and_its_files_are_read(tmp_path):
    old = {"format": "lodestar-plan", "version": 1, "first_step": 3, "last_step": 8, "knots": [0, 10], "lr": [0, 1]}
    (tmp_path / "plan.json").write_text(json.dumps(old))
    plan = Plan(3, 8, (0.0, 10.0), (0.0, 1.0))
    assert Plan.from_json(tmp_path / "plan.json") == plan == Schedule.from_json(tmp_path / "plan.json")
    assert isinstance(plan, Schedule) and isinstance(plan, Plan) and isinstance(Schedule("s", [1]), Plan)
    assert plan.name == "plan" and plan.peak == pytest.approx(0.8)


def test_a_schedule_cannot_be_changed():
    schedule = Schedule("s", [0.1, 0.2])
    with pytest.raises(ValueError, match="read-only"):
        schedule.rates[0] = 1.0
    with pytest.raises(AttributeError):
        schedule.name = "t"  # pyright: ignore[reportAttributeAccessIssue]
    schedule.values()[0] = 1.0
    assert np.array_equal(schedule.rates, [0.1, 0.2])


def test_a_million_steps_through_knots_stay_a_few_numbers():
    schedule = Schedule("long", [1.0, 0.0], knots=[0, 1_000_000], last_step=1_000_000)
    assert len(schedule) == 1_000_000 and len(schedule.knots) == 2
    assert schedule(250_000) == 0.75
