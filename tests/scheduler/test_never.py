"""What a scheduler never does: steer in shadow mode, die of a listener, leave a cap given on resume, copy its log.

LODESTAR_FUZZ=10000 runs that many broken base schedules; the default is forty.
"""

import copy
import json
import math
import os
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.scheduler.live import train

from lodestar.scheduler import Decision, Gate, Scheduler
from lodestar.scheduler.safety.caps import caps_of
from lodestar.testing import random_forecaster

EXAMPLES = int(os.environ.get("LODESTAR_FUZZ", "40"))
TOTAL = 120
FORECASTER = random_forecaster(seed=5, points=40)

nonsense = st.sampled_from(
    [math.nan, math.inf, -math.inf, -1.0, None, "0.1", "", [], [1.0, 2.0], 1j, object(), np.ones(2), np.nan, -1e-300]
)


class Broken:
    """A base schedule that gives nonsense, or raises, at some steps."""

    def __init__(self, at: dict[int, Any]):
        self.at = at

    def __call__(self, step: int) -> Any:
        if step not in self.at:
            return 1e-5 * (1 + step)
        if self.at[step] is KeyError:
            raise KeyError("epoch")
        return self.at[step]

    def held(self, step: int) -> float:
        """What is expected: the rate of the last good step."""
        return 1e-5 * (1 + max(s for s in range(1, step + 1) if s not in self.at))


@given(
    at=st.dictionaries(st.integers(2, TOTAL), nonsense | st.just(KeyError)), mode=st.sampled_from(["shadow", "gated"])
)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_where_the_base_schedule_fails_its_last_good_rate_holds(at, mode):
    base = Broken(at)
    options: dict[str, Any] = {"mode": "shadow"} if mode == "shadow" else {"gate": Gate(least=0.99)}
    options |= {"window": 0.25, "samples": 3}  # decisions are not the point here, and take time
    one = Scheduler(FORECASTER, TOTAL, base=base, **options)
    assert train(one, 1, TOTAL // 2) == [base.held(step) for step in range(1, TOTAL // 2 + 1)]
    again = Scheduler(FORECASTER, TOTAL, base=base, **options)
    again.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert train(again, TOTAL // 2 + 1, TOTAL) == [base.held(step) for step in range(TOTAL // 2 + 1, TOTAL + 1)]
    assert again.followed().values().tolist() == [base.held(step) for step in range(1, TOTAL + 1)]
    assert all(math.isfinite(rate) for rate in again.plan().values())
    assert sum("last good rate" in text for text in again.warnings) == bool(at)


def test_a_base_schedule_that_dies_for_good_is_asked_for_few_earlier_steps():
    asked = []

    def dead(step: int) -> float:
        asked.append(step)
        if len(asked) > 30:
            raise OSError("the file is gone")
        return 1e-3 / step

    one = Scheduler(FORECASTER, 50_000, mode="shadow", base=dead)
    for step in range(1, 50_001, 100):
        assert 0 < one.lr_at(step) <= 1e-3
    assert len(asked) < 200_000


def test_a_base_schedule_that_fails_from_the_start_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match=r"base\(1\) must be a learning rate, but failed: KeyError.*Fix: "):
        Scheduler(FORECASTER, TOTAL, mode="shadow", base=Broken({1: KeyError}))


class Raising:
    """A listener that counts what it is told, and fails."""

    def __init__(self):
        self.observations = self.decisions = 0

    def observed(self, step: int, loss: float | None, metric: float | None, lr: float) -> str | None:
        self.observations += 1
        raise OSError("the tracker is gone")

    def decided(self, decision: Decision) -> str | None:
        self.decisions += 1
        raise KeyError("run")


@pytest.mark.parametrize("listener", [Raising(), object(), None])
def test_a_listener_that_raises_does_not_end_the_job_nor_change_a_rate(listener):
    one, plain = Scheduler(FORECASTER, TOTAL), Scheduler(FORECASTER, TOTAL)
    one.listen(listener)
    assert train(one, 1, TOTAL) == train(plain, 1, TOTAL)
    assert [text for text in one.warnings if text not in plain.warnings] == [
        text for text in one.warnings if f"the listener {type(listener).__name__} failed in decided at step 0" in text
    ]
    assert len(one.warnings) == len(plain.warnings) + 1


def test_a_listener_that_raises_is_told_again():
    one, heard = Scheduler(FORECASTER, TOTAL), Raising()
    one.listen(heard)
    train(one, 1, TOTAL)
    assert heard.observations >= TOTAL
    assert heard.decisions == len(one.decisions)


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("stop", [1, 33, 60])
def test_caps_given_on_resume_hold_for_the_loaded_plan(stop, preset):
    first = Scheduler(FORECASTER, TOTAL, preset=preset)
    before = train(first, 1, stop)
    high = 0.5 * min(first.plan().values())
    again = Scheduler(FORECASTER, TOTAL, preset=preset, max_lr=high)
    again.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert max(again.plan().values()) <= high
    assert max(train(again, stop + 1, TOTAL)) <= high
    assert again.followed().values().tolist()[: stop - 1] == before[:-1]  # what was used is not rewritten
    assert any("the loaded plan left the caps" in text for text in again.warnings)


def test_a_lower_cap_given_on_resume_holds_for_the_loaded_plan():
    first = Scheduler(FORECASTER, TOTAL)
    train(first, 1, 33)
    again = Scheduler(FORECASTER, TOTAL, min_lr=2e-2)
    again.load_state_dict(first.state_dict())
    assert min(train(again, 34, TOTAL)) >= 2e-2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["deep", "pickle"])
def test_a_copy_goes_on_as_the_original_would_and_leaves_its_log_alone(copied, tmp_path):
    log = tmp_path / "decisions.jsonl"
    one = Scheduler(FORECASTER, TOTAL, log=log, hysteresis=None, tolerance=20.0)
    one.listen(Raising())
    train(one, 1, 50)
    other, size = copied(one), log.stat().st_size
    assert any("this is a copy of a scheduler: it writes no log" in text for text in other.warnings)
    rates = train(other, 51, TOTAL)
    assert log.stat().st_size == size
    assert rates == train(one, 51, TOTAL)
    assert log.stat().st_size > size
    assert not any("copy" in text for text in one.warnings)


def test_a_copy_of_a_followed_scheduler_can_be_made(tmp_path):
    pytest.importorskip("tensorboard")
    from lodestar.exporters import follow, open_writer

    one = Scheduler(FORECASTER, TOTAL)
    with follow(one, open_writer(f"tensorboard:{tmp_path}")):
        train(one, 1, 10)
        other = copy.deepcopy(one)  # the follower's thread and queue cannot be copied
    assert train(other, 11, 20) == train(one, 11, 20)


@pytest.mark.parametrize("values", [(0.88,), (7, 0.88), (math.nan,), (7, 0.5, 0.88)])
def test_a_value_observed_without_a_name_is_a_sentence(values):
    one = Scheduler(FORECASTER, TOTAL)
    one.observe(*values)
    assert [text for text in one.warnings if "by position" in text and "Fix: name it" in text] == one.warnings
    assert len(one.warnings) == 1


@pytest.mark.parametrize("survived", [math.nan, math.inf, 0.0, -1.0])
def test_a_forecaster_without_a_highest_rate_is_refused(survived):
    from dataclasses import replace

    broken = replace(FORECASTER, ranges=replace(FORECASTER.ranges, lr_max=survived))
    with pytest.raises(
        ValueError, match=r"highest rate that training runs survived must be above 0.*Fix: fit it again"
    ):
        caps_of(broken, None, None)
