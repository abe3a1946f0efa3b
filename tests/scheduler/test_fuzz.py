"""Random event streams: whatever a job does, no exception, no rate outside the caps, and a resume changes nothing.

LODESTAR_FUZZ=10000 runs that many streams; the default is a few hundred.
"""

import json
import math
import os

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lodestar.scheduler import Gate, Outcome, Scheduler
from lodestar.testing import random_forecaster

EXAMPLES = int(os.environ.get("LODESTAR_FUZZ", "250"))
TOTAL = 120
FORECASTERS = [
    random_forecaster(seed=0, points=20),
    random_forecaster(seed=1, points=40, members=2),
    random_forecaster(seed=2, points=30, direction="min"),  # pyright: ignore[reportArgumentType]
]


class Tensor:
    """What a framework's scalar looks like to us."""

    def __init__(self, value: float):
        self.value = value

    def item(self) -> float:
        return self.value


plain = st.one_of(
    st.floats(0.1, 5.0),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -1.0, 1e308, -1e308, 5e-324, 1e30]),
)
values = st.one_of(
    plain,
    plain.map(np.float64),
    st.floats(0.125, 5.0, width=32).map(np.float32),
    plain.map(lambda x: np.array(x)),
    plain.map(Tensor),
    st.integers(-(10**400), 10**400),
    st.sampled_from([None, "0.5", True, np.array([1.0, 2.0]), [1.0], object(), 1j]),
)
steps = st.one_of(
    st.integers(1, TOTAL),
    st.integers(-5, 3 * TOTAL),
    st.integers(1, TOTAL).map(float),
    st.integers(1, TOTAL).map(np.int64),
    st.sampled_from([0, -1, 10**18, 10**400, 10**9000, math.nan, math.inf, 3.5, None, "7"]),
)
events = st.one_of(
    st.tuples(st.just("go"), st.integers(1, 25), values),  # so many ordinary steps, each with this loss
    st.tuples(st.just("observe"), steps, values, values),
    st.tuples(st.just("lr_at"), steps),
    st.tuples(st.just("extend"), st.one_of(steps, st.integers(TOTAL, 4 * TOTAL))),
    st.tuples(st.just("plan")),
    st.tuples(st.just("kill")),
)
builds = st.fixed_dictionaries(
    {"preset": st.sampled_from(["default", "paper"])},
    optional={
        "seed": st.integers(0, 3),
        "min_lr": st.just(2e-4),
        "max_lr": st.sampled_from([5e-4, 1.0]),
        "gate": st.sampled_from([Gate(least=0.5), Gate(least=0.95), Gate(margin=0.0, stretch=0.05)]),
        "context": st.just("all"),
        "horizon": st.sampled_from([0.05, 1.0]),
        "mode": st.sampled_from(["steer", "shadow"]),
    },
)


def base(step: int) -> float:
    """A plain schedule that sometimes fails."""
    if step % 50 == 49:
        raise RuntimeError("a bug in the user's schedule")
    return math.nan if step % 50 == 48 else 1e-3 * (1 - step / 1000)


def resumed(scheduler: Scheduler, build: dict) -> Scheduler:
    """The same job after a kill: built again, and given the checkpoint."""
    text = json.dumps(scheduler.state_dict(), allow_nan=False)
    again = Scheduler(scheduler.forecaster, TOTAL, base=base, **build)
    again.load_state_dict(json.loads(text))
    assert json.dumps(again.state_dict(), allow_nan=False) == text
    return again


def play(scheduler: Scheduler, event: tuple, at: int) -> tuple[list[float], int]:
    """One event; the rates it gave, and the job's own step after it."""
    if event[0] == "go":
        rates = []
        for step in range(at + 1, at + event[1] + 1):
            rates.append(scheduler.lr_at(step))
            scheduler.observe(step, loss=event[2], metric=0.3 if step % 7 == 0 else None)
        return rates, at + event[1]
    if event[0] == "observe":
        scheduler.observe(event[1], loss=event[2], metric=event[3])
        return [], at
    if event[0] == "lr_at":
        return [scheduler.lr_at(event[1])], at
    if event[0] == "extend":
        scheduler.extend(event[1] if not isinstance(event[1], int) else min(event[1], 10 * TOTAL))
        return [], at
    plan = scheduler.plan()
    return [plan.lr_at(plan.first_step), plan.lr_at(plan.last_step)], at


@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(which=st.integers(0, len(FORECASTERS) - 1), build=builds, stream=st.lists(events, max_size=14))
def test_no_stream_of_events_breaks_a_run(which, build, stream):
    one = Scheduler(FORECASTERS[which], TOTAL, base=base, **build)  # never killed
    two = Scheduler(FORECASTERS[which], TOTAL, base=base, **build)  # killed and resumed at every "kill"
    low = build.get("min_lr", 0.0)
    high = min(build.get("max_lr", math.inf), FORECASTERS[which].ranges.lr_max)
    at, given = 0, {}
    for event in stream:
        if event[0] == "kill":
            two = resumed(two, build)
            continue
        (rates, after), (again, _) = play(one, event, at), play(two, event, at)
        given |= {s: r for s, r in zip(range(at + 1, after + 1), rates, strict=False) if s <= one.total_steps}
        at = after
        assert rates == again
        assert all(isinstance(rate, float) and math.isfinite(rate) for rate in rates)
        if build.get("mode") != "shadow":
            assert all(low <= rate <= high for rate in rates)
    assert one.decisions == two.decisions
    assert one.warnings == two.warnings
    assert {step: one.lr_at(step) for step in given} == given  # what was given never changes afterwards
    assert Outcome.FAILED not in {decision.outcome for decision in one.decisions}
    assert one.followed().values().tolist() == two.followed().values().tolist()
    str(one.score())
