"""The state: saved and restored whole; what lacks a part or does not fit is refused before anything changes."""

import json
import math
import random

import pytest
from tests.hostile import TRIES, some_value
from tests.scheduler.live import train

from lodestar.scheduler import Outcome, Scheduler
from lodestar.scheduler.clock import Clock
from lodestar.scheduler.state import State
from lodestar.testing import random_forecaster

TOTAL = 400
FORECASTER = random_forecaster(seed=5, points=40)
CLOCK = Clock(TOTAL, 40, 2)
KEYS = {  # release one's
    *("format", "version", "forecaster", "settings", "seed", "mode", "built_for", "total_steps", "last_step"),
    *("settled", "revision", "closed", "gear", "gears", "cut", "course", "curve", "history"),
    *("decisions", "warnings", "warned"),
}


def saved() -> dict:
    one = Scheduler(FORECASTER, TOTAL, tolerance=20.0, hysteresis=None)
    train(one, 1, 150)
    return json.loads(json.dumps(one.state_dict()))


def test_a_saved_state_has_the_keys_of_release_one():
    assert set(saved()) == KEYS


def test_a_state_is_plain_data_and_back():
    data = saved()
    state = State.from_dict(data, CLOCK)
    assert state.to_dict().items() <= data.items()
    assert state.last_step == 150
    assert state.entries.decisions[0].outcome is Outcome.INITIAL_PLAN


WHOSE = {"format", "version", "forecaster"}  # who saved it; refused with other words
LATER = {"gear", "gears"}  # the first states had none


@pytest.mark.parametrize("key", sorted(KEYS - WHOSE - LATER))
def test_a_state_that_lacks_a_part_is_refused_and_changes_nothing(key):
    one, data = Scheduler(FORECASTER, TOTAL), saved()
    before = one.state_dict()
    del data[key]
    with pytest.raises(ValueError, match=f"damaged.*{key}.*Fix: "):
        one.load_state_dict(data)
    assert one.state_dict() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total_steps": 500}, "history of a run of 500 steps"),
        ({"settled": 41}, "settled of 0 to 40"),
        ({"last_step": 401}, "last_step of 0 to 400"),
        ({"curve": {"knots": [0.0, 1.0], "lr": [0.1]}}, "one lr a knot"),
        ({"curve": {"knots": [0.0], "lr": [float("nan")]}}, "finite number"),
        ({"cut": [1.0]}, "damaged"),
        ({"built_for": None}, "built_for is None"),
        ({"seed": "1"}, "seed is '1'"),
        ({"settled": "12"}, "settled must be a whole number"),
        ({"last_step": 10**30}, "last_step must be a whole number"),
        ({"gear": 0.0}, "gear must be a finite number >= 1e-09"),
        ({"warnings": "abc"}, "warnings must be a list of texts"),
        ({"decisions": [{"outcome": "x"}]}, "damaged"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(change, words):
    one = Scheduler(FORECASTER, TOTAL)
    before = one.state_dict()
    with pytest.raises(ValueError, match=words):
        one.load_state_dict(saved() | change)
    assert one.state_dict() == before


def test_a_history_of_another_size_is_refused_before_it_is_made():
    data = saved()
    data["history"]["points"] = 10**13
    with pytest.raises(ValueError, match="history of 40 points"):
        State.from_dict(data, CLOCK)


def test_a_tampered_state_is_refused_whole_or_steers_on():
    """No half of a state is ever applied, and what is applied gives finite rates to the end."""
    data, rng, refused = saved(), random.Random(1), 0
    one = Scheduler(FORECASTER, TOTAL, tolerance=20.0, hysteresis=None)
    before = one.state_dict()
    for _ in range(TRIES):
        tampered = some_value(data, rng, rng.randint(1, 2))
        try:
            one.load_state_dict(tampered)
        except ValueError:
            refused += 1
            assert one.state_dict() == before
            continue
        state = one.state_dict()
        json.dumps(state)
        assert all(math.isfinite(one.lr_at(step)) for step in (one._state.last_step + 1, TOTAL // 2, TOTAL))
        one = Scheduler(FORECASTER, TOTAL, tolerance=20.0, hysteresis=None)
    assert refused > TRIES / 3


def test_a_planned_run_that_ends_too_early_is_refused():
    data = saved()
    for curve in ("lr", "loss", "metric"):
        data["course"][curve].pop()
    with pytest.raises(ValueError, match="course to the run's end"):
        State.from_dict(data, CLOCK)
