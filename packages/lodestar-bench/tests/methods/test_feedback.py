"""ReduceLROnPlateau against PyTorch and GreedyLR against Transformers, step for step on random measurements."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.runs import Direction
from lodestar_bench.methods.greedy import GreedyRule
from lodestar_bench.methods.plateau import PlateauRule

# Falling on the whole, with ties and noise; a few are no numbers.
walks = st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.6]), min_size=5, max_size=80).map(
    lambda moves: [10 + total for total in np.cumsum(moves)]
)


def optimizer(rate):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def followed(rule, measurements):
    rates = []
    for measured in measurements:
        rule.step(measured)
        rates.append(rule.rate)
    return rates


@settings(max_examples=60, deadline=None)
@given(walk=walks, patience=st.integers(0, 4), cooldown=st.integers(0, 3), mode=st.sampled_from(["min", "max"]))
def test_plateau_equals_torch(walk, patience, cooldown, mode):
    theirs = optimizer(0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, mode=mode, patience=patience, cooldown=cooldown)
    expected = []
    for measured in walk:
        scheduler.step(measured)
        expected.append(theirs.param_groups[0]["lr"])
    rule = PlateauRule(0.1, patience, Direction(mode), cooldown=cooldown)
    assert followed(rule, walk) == expected


def test_plateau_by_hand():
    rule = PlateauRule(1.0, patience=1, direction=Direction.MAX)
    assert followed(rule, [0.5, 0.6, 0.6, 0.6, 0.7, 0.7, math.nan]) == [
        1.0,
        1.0,
        1.0,
        0.1,
        0.1,
        0.1,
        pytest.approx(0.01),
    ]


@settings(max_examples=60, deadline=None)
@given(
    walk=walks,
    patience=st.integers(0, 3),
    rests=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    window=st.integers(1, 6),
    reset=st.integers(1, 4),
)
def test_greedy_equals_transformers(walk, patience, rests, window, reset):
    greedy = getattr(pytest.importorskip("transformers.optimization"), "GreedyLR", None)
    if greedy is None:
        pytest.skip("this version of Transformers has no GreedyLR")
    shared = {"patience": patience, "factor": 0.5, "cooldown": rests[0], "warmup": rests[1]}
    theirs = optimizer(0.1)
    bounds = {"min_lr": 0.02, "max_lr": 1.0}
    scheduler = greedy(theirs, **shared, **bounds, smooth=True, window_size=window, reset_start=reset)
    expected = []
    for measured in walk:
        scheduler.step(measured)
        expected.append(theirs.param_groups[0]["lr"])
    rule = GreedyRule(0.1, least_rate=0.02, most_rate=1.0, window=window, reset_after=reset, **shared)
    assert followed(rule, walk) == expected


def test_greedy_by_hand():
    rule = GreedyRule(0.1, patience=1, least_rate=0.05, most_rate=0.4, factor=0.5)
    rates = followed(rule, [5.0, 4.0, 3.0, 2.0, 2.0, 2.0, math.nan, math.inf, 1.0])
    assert rates == [0.1, 0.2, 0.2, 0.4, 0.4, 0.2, 0.2, 0.1, 0.1]


def test_greedy_stays_within_its_bounds():
    rule = GreedyRule(0.1, patience=0, least_rate=0.05, most_rate=0.15, factor=0.5)
    assert max(followed(rule, np.linspace(9, 1, 9))) == 0.15
    assert min(followed(rule, [9.0] * 9)) == 0.05
