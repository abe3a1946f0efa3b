import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lodestar.scheduler.clock import Clock
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.safety.caps import Caps
from lodestar.scheduler.safety.guard import Cut
from lodestar.scheduler.steps.follow import follow


@given(
    total=st.integers(20, 300),
    at=st.integers(0, 300),
    factor=st.sampled_from([1.0, 0.5]),
    until=st.integers(0, 25),
    seed=st.integers(0, 100),
)
def test_a_new_plan_changes_nothing_behind_it_and_stays_in_the_caps(total, at, factor, until, seed):
    rng = np.random.default_rng(seed)
    clock, caps = Clock(total, 20, 2), Caps(0.2, 0.8)
    first = PlannedRun(0, rng.random(21), np.ones(21), np.ones(21))
    settled = min(clock.complete(at), 20)
    second = PlannedRun(settled, rng.random(21 - settled), np.ones(21 - settled), np.ones(21 - settled))
    one = follow(None, first, 0.0, clock, caps, Cut())
    two = follow(one, second, clock.at(settled), clock, caps, Cut(factor, until))
    end = clock.end(settled - 1) if settled else 0
    assert [two.lr_at(s) for s in range(1, end + 1)] == [one.lr_at(s) for s in range(1, end + 1)]
    rates = [two.lr_at(s) for s in range(1, total + 1)]
    assert all(0.2 <= rate <= 0.8 for rate in rates)
    if settled < 20:
        expected = second.lr[-1] * (factor if until >= 20 else 1.0)
        assert rates[-1] == pytest.approx(np.clip(expected, 0.2, 0.8))
