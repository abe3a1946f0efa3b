"""The fast path equals Algorithm 1 in plain loops."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import algorithm_one
from tests.scheduler.live import points_near

from lodestar.runs.run import Direction
from lodestar.scheduler import PAPER, Outcome
from lodestar.scheduler.steps.initial_plan import initial_plan
from lodestar.scheduler.steps.steer import steer
from lodestar.testing import random_forecaster


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    points=st.sampled_from([20, 40, 73]),
    members=st.integers(1, 3),
    direction=st.sampled_from(list(Direction)),
    where=st.floats(0.0, 1.0),
    samples=st.sampled_from([1, 2, 12]),
    horizon=st.sampled_from([None, 0.1, 0.9]),
    noise=st.sampled_from([0.0, 0.15, 1.0]),
    wobble=st.sampled_from([0.001, 0.02, 0.2]),
)
def test_the_paper_preset_equals_the_reference(
    seed, points, members, direction, where, samples, horizon, noise, wobble
):
    forecaster = random_forecaster(seed=seed, points=points, members=members, direction=direction)
    live = points_near(forecaster, seed, wobble)
    chosen = dataclasses.replace(PAPER, samples=samples, noise=noise, horizon=horizon)
    window = chosen.window_points(points)
    seen = window + int(where * (points - window))
    live.mask[seen - 1, 0] = True

    slow = algorithm_one(
        forecaster,
        live,
        seen,
        window=window,
        samples=samples,
        noise=noise,
        horizon=None if horizon is None else max(1, round(horizon * points)),
        average=3,
        rng=np.random.default_rng([seed, seen]),
    )
    begun, _ = initial_plan(forecaster, window, PAPER)
    fast, planned = steer(forecaster, live, seen, chosen, np.random.default_rng([seed, seen]), begun)

    assert fast.tolerance == pytest.approx(slow.tolerance, rel=1e-9)
    assert fast.accepted == slow.accepted
    assert [(w.member, w.sample, round(w.matched * points) - 1) for w in fast.winners] == [w[:3] for w in slow.winners]
    if slow.lr is None:
        assert fast.outcome is Outcome.NONE_ACCEPTED
        assert planned is None
    else:
        assert fast.outcome is Outcome.REPLANNED
        assert planned is not None
        np.testing.assert_allclose(planned.lr, slow.lr, rtol=1e-9)


def test_both_kinds_of_outcome_come_up_in_what_is_compared():
    outcomes = set()
    for seed in range(8):
        forecaster = random_forecaster(seed=seed, points=40)
        planned, _ = initial_plan(forecaster, 2, PAPER)
        live = points_near(forecaster, seed)
        live.mask[:, 0] = True
        outcomes |= {
            steer(forecaster, live, seen, PAPER, np.random.default_rng(seed), planned)[0].outcome
            for seen in (2, 20, 40)
        }
    assert {Outcome.REPLANNED, Outcome.NONE_ACCEPTED} <= outcomes
