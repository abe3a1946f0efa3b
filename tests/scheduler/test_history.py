import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.curves import toy_run

from lodestar.scheduler.history import History
from lodestar.testing import random_forecaster


def test_a_live_run_looks_like_the_same_run_from_a_store():
    forecaster = random_forecaster(seed=0, points=40)
    run = toy_run("a")
    history = History(run.total_steps, 40)
    for series, add in ((run.loss, history.add_loss), (run.metric, history.add_metric)):
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            add(step, value)
    stored = forecaster.recipe.to_points(run.loss, run.metric, run.lr, run.total_steps)
    live = history.on_grid(forecaster.recipe, 40)
    assert np.array_equal(live.mask[:, :2], stored.mask[:, :2])
    np.testing.assert_allclose(live.values[:, :2], stored.values[:, :2], rtol=1e-12)


def test_points_not_yet_passed_are_hidden():
    forecaster = random_forecaster(seed=0, points=40)
    history = History(400, 40)
    history.add_loss(15, 1.0)
    history.add_loss(25, 2.0)
    assert history.on_grid(forecaster.recipe, 2).mask[:, 0].nonzero()[0].tolist() == [1]


def test_values_that_are_not_finite_are_counted_and_not_averaged():
    history = History(400, 40)
    for value in (1.0, math.nan, math.inf, 1e300, 3.0):
        history.add_loss(5, value)
    assert history.loss[0] == 2.0
    assert history.blown[0] == 3


def test_the_latest_metric_of_a_point_wins_whenever_it_is_told():
    history = History(400, 40)
    history.add_metric(8, 0.8)
    history.add_metric(3, 0.3)
    assert history.metric[0] == 0.8
    assert history.last_metric() == 0.8


@given(st.lists(st.tuples(st.integers(1, 400), st.floats(allow_nan=True)), max_size=30))
def test_plain_data_and_back(seen):
    history = History(400, 40)
    for step, value in seen:
        history.add_loss(step, value)
        history.add_metric(step, value)
    data = json.loads(json.dumps(history.to_dict(), allow_nan=False))
    assert History.from_dict(data, 40).to_dict() == history.to_dict()


def test_memory_does_not_grow_with_steps():
    history = History(10**6, 40)
    for step in range(1, 20_000):
        history.add_loss(50 * step, 1.0)
    assert len(json.dumps(history.to_dict())) < 5_000


def test_a_rate_the_job_says_it_used_counts_and_moves_with_the_clock():
    history = History(400, 40)
    history.add_applied(15, 0.3)
    history.add_applied(17, 0.4)
    for point in range(3):
        history.settle(point, 0.1)
    assert history.lr[:3].tolist() == [0.1, 0.4, 0.1]
    again = History.from_dict(json.loads(json.dumps(history.to_dict())), 40)
    assert again.applied == {1: 0.4}
    longer = again.rebinned(800, lambda step: 0.2, 30)
    assert longer.applied == {0: 0.4}
    assert longer.lr[:2].tolist() == [0.4, 0.0]
