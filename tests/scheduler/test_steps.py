"""The five steps one by one, by hand. Each error of the authors' research code is a test here."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduler.live import points_near

from lodestar.forecaster.preprocessing.normaliser import Channel
from lodestar.forecaster.preprocessing.transform import Kind, Transform
from lodestar.runs.run import Direction
from lodestar.scheduler.steps.accept import one_sided, tolerance_of, two_sided
from lodestar.scheduler.steps.average import ahead, arithmetic, log
from lodestar.scheduler.steps.candidates import Known, Local, Midpoint, References, gather
from lodestar.scheduler.steps.encode import encode, live_context
from lodestar.scheduler.steps.matching import HighestLr, Nearest, match
from lodestar.scheduler.steps.perturb import perturb
from lodestar.scheduler.steps.score import consensus, each, past_end
from lodestar.testing import random_forecaster

PLAIN = Channel(Transform(Kind.IDENTITY))
LOG = Channel(Transform(Kind.LOG))


def decide(loss, lr, metric, current, tolerance, horizon, direction=Direction.MAX, best=3, nodes=2):
    """Steps 3 to 5 of the paper on one member's hand-written samples."""
    loss, lr, metric = (np.array([rows], dtype=float) for rows in (loss, lr, metric))
    matched = match(HighestLr(), two_sided(loss, current, tolerance), lr, 0, 0)
    at = past_end(matched + horizon, loss.shape[-1])
    goals = np.where(matched < 0, np.nan, np.take_along_axis(metric, at[..., None], axis=-1)[..., 0])
    samples = [sample for group in each(goals, direction)[:best] for _, sample in group]
    curves = ahead(lr[0, samples], matched[0, samples], nodes)
    return samples, arithmetic(curves, PLAIN) if samples else None


def test_a_rejection_before_an_acceptance_does_not_shift_the_winners():
    winners, lr = decide(
        loss=[[9, 9, 9], [9, 9, 9], [3, 2, 1], [3, 2, 1]],
        lr=[[7, 7, 7], [8, 8, 8], [0.1, 0.2, 0.3], [0.3, 0.4, 0.5]],
        metric=[[99, 99, 99], [98, 98, 98], [0.1, 0.2, 0.5], [0.1, 0.2, 0.6]],
        current=2.0,
        tolerance=0.5,
        horizon=1,
    )
    assert winners == [3, 2]
    assert lr == pytest.approx([0.3, 0.4])  # means of (0.4, 0.5) and (0.2, 0.3)


def test_acceptance_is_two_sided():
    found = two_sided(np.array([1.0, 1.9, 2.0, 2.1, 3.0]), 2.0, 0.5)
    assert found.tolist() == [False, True, True, True, False]


def test_acceptance_is_strict_and_refuses_what_is_not_finite():
    assert two_sided(np.array([1.5, 2.5, np.nan, np.inf]), 2.0, 0.5).tolist() == [False] * 4


def test_a_sample_that_does_better_than_the_live_run_is_not_accepted_for_that():
    assert not two_sided(np.array([-5.0]), 2.0, 0.5).any()


def test_the_last_sample_can_win():
    winners, _ = decide([[2, 2]] * 5, [[1, 1]] * 5, [[0, 0.1 * i] for i in range(5)], 2.0, 0.1, 1)
    assert winners == [4, 3, 2]


def test_ties_go_to_the_lower_sample():
    winners, _ = decide([[2, 2]] * 4, [[1, 1]] * 4, [[0, 5]] * 4, 2.0, 0.1, 1)
    assert winners == [0, 1, 2]


def test_fewer_than_three_accepted_are_averaged_as_they_are():
    winners, lr = decide([[2, 2], [9, 9]], [[1, 3], [50, 50]], [[0, 1], [0, 9]], 2.0, 0.1, 1, nodes=1)
    assert winners == [0]
    assert lr == pytest.approx([3.0])


def test_none_accepted_leaves_nothing_to_average():
    assert decide([[9, 9]], [[1, 1]], [[1, 1]], 2.0, 0.1, 1) == ([], None)


def test_a_metric_to_be_minimised_is_ranked_lowest_first():
    winners, _ = decide([[2, 2]] * 4, [[1, 1]] * 4, [[0, 3], [0, 1], [0, 4], [0, 2]], 2.0, 0.1, 1, Direction.MIN)
    assert winners == [1, 3, 0]


def test_a_horizon_past_the_end_is_read_at_the_end():
    winners, _ = decide([[9, 2, 9], [9, 2, 9]], [[1, 1, 1]] * 2, [[0, 9, 0.2], [0, 0, 0.3]], 2.0, 0.1, horizon=10)
    assert winners == [1, 0]
    assert past_end(np.array([1, 3, 99]), 4).tolist() == [1, 3, 3]


def test_rates_past_the_end_hold_the_last_one():
    assert ahead(np.array([[0.1, 0.2, 0.3]]), np.array([1]), 4).tolist() == [[0.2, 0.3, 0.3, 0.3]]


def test_of_several_matching_times_the_highest_rate_wins_and_the_earliest_of_equals():
    found = np.array([[[True, True, False, True], [True, True, True, True], [False] * 4]])
    lr = np.array([[[1.0, 3.0, 9.0, 3.0], [0.0, 0.0, 0.0, 0.0], [1.0] * 4]])
    assert match(HighestLr(), found, lr, 0, 0).tolist() == [[1, 0, -1]]


def test_the_nearest_matching_time_within_reach_is_taken():
    found = np.array([[[True, False, False, True, False, True], [True, False, False, False, False, False]]])
    first, stop = Nearest(2).span(4, 6)
    assert match(Nearest(2), found[..., first:stop], np.ones((1, 2, 4)), 4, first).tolist() == [[3, -1]]


def test_the_tolerance_is_over_the_whole_window():
    losses = np.array([4.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    assert tolerance_of(losses, 2.0) == pytest.approx(2 * np.std(losses))
    assert tolerance_of(losses, 2.0) > 2 * np.std(losses[-3:])


def test_the_tolerance_may_be_over_the_last_three_losses_alone():
    losses = np.array([9.0, 9.0, 2.0, 4.0, 6.0])
    assert tolerance_of(losses, 2.0, last=3) == pytest.approx(2 * math.sqrt(8 / 3))


def test_one_sided_acceptance_takes_all_that_is_better():
    found = one_sided(np.array([-5.0, 1.0, 2.4, 2.5, 3.0, np.nan, -np.inf]), 2.0, 0.5)
    assert found.tolist() == [True, True, True, False, False, False, False]


def test_the_tolerance_has_a_floor_on_the_training_losses_scale():
    assert tolerance_of(np.array([2.0, 2.0]), 2.0) == 0.0
    assert tolerance_of(np.array([2.0, 2.0]), 2.0, 0.05, LOG) == pytest.approx(2.0 * (math.exp(0.05) - 1))


def test_the_first_sample_is_not_perturbed():
    z0 = np.array([[1.0, -2.0]])
    made = perturb(z0, 3, 0.15, np.ones((1, 2)), np.random.default_rng(0))
    assert made[0, 0].tolist() == [1.0, -2.0]
    assert not np.any(made[0, 1:] == z0[0])


def test_noise_is_in_units_of_the_spread():
    spread = np.array([[1e-3, 1e3]])
    made = perturb(np.zeros((1, 2)), 4000, 0.15, spread, np.random.default_rng(0))[0, 1:]
    np.testing.assert_allclose(made.std(axis=0), 0.15 * spread[0], rtol=0.05)


def test_noise_may_be_in_units_of_the_latent_itself():
    z0 = np.array([[2.0, -4.0, 0.0]])
    drawn = np.random.default_rng(0).standard_normal((1, 2, 3))[0, 1]
    made = perturb(z0, 2, 0.15, np.full((1, 3), 9.0), np.random.default_rng(0), "latent")[0, 1]
    assert made == pytest.approx([2.0 + 0.3 * drawn[0], -4.0 + 0.6 * drawn[1], 0.0])


def test_past_runs_vary_by_their_own_size_then():
    live, references, spread = np.zeros((1, 1)), np.array([[[2.0], [10.0]]]), np.ones((1, 1))
    made = References(0.5, "latent").draw(Known(live, references, spread), 4, np.random.default_rng(0))[0, :, 0]
    drawn = np.random.default_rng(0).standard_normal((1, 4, 1))[0, :, 0]
    assert made == pytest.approx([2.0, 10.0, 2.0 + drawn[2], 10.0 + 5 * drawn[3]])


def test_each_member_is_perturbed_on_its_own():
    made = perturb(np.zeros((2, 3)), 2, 1.0, np.ones((2, 3)), np.random.default_rng(0))
    assert not np.array_equal(made[0, 1], made[1, 1])


def test_other_random_numbers_give_other_samples():
    one, two = (perturb(np.zeros((1, 3)), 2, 1.0, np.ones((1, 3)), np.random.default_rng([0, w])) for w in (1, 2))
    assert not np.array_equal(one, two)


def test_reference_runs_are_encoded_at_the_same_place_as_the_live_run():
    forecaster = random_forecaster(seed=1, points=40)
    live = live_context(forecaster, points_near(forecaster, 0), 10, 14)
    _, references = encode(forecaster, live, 2)
    alone = forecaster.encode(forecaster.references.context(1, 10, 14))
    np.testing.assert_allclose(references[:, 1], alone[:, 0])


def test_samples_are_shared_out_over_the_sources():
    live, references, spread = np.zeros((1, 4)), np.ones((1, 3, 4)), np.ones((1, 4))
    sources = (Local(0.0), References(0.0), Midpoint(0.0))
    names = ("local", "references", "midpoint")
    latents, labels = gather(sources, 11, Known(live, references, spread), np.random.default_rng(0))
    assert [labels.count(name) for name in names] == [4, 4, 3]
    assert latents[0, :, 0].tolist() == [0.0] * 4 + [1.0] * 4 + [0.5] * 3


def test_a_forecaster_without_reference_runs_falls_back_on_noise():
    live, references = np.zeros((1, 4)), np.ones((1, 0, 4))
    sources = (Local(1.0), References(1.0))
    latents, labels = gather(sources, 5, Known(live, references, np.ones((1, 4))), np.random.default_rng(0))
    assert latents.shape == (1, 5, 4)
    assert labels == ["local"] * 5


def test_consensus_needs_half_of_the_members():
    goals = np.array([[0.9, 0.5, 0.6], [np.nan, 0.5, np.nan], [np.nan, 0.5, 0.6]])
    assert consensus(goals, Direction.MAX) == [[(0, 2), (2, 2)], [(0, 1), (1, 1), (2, 1)]]


def test_consensus_marks_disagreement_down():
    goals = np.array([[0.9, 0.6], [0.3, 0.6]])
    assert consensus(goals, Direction.MAX)[0] == [(0, 1), (1, 1)]
    assert consensus(goals, Direction.MIN)[0] == [(0, 1), (1, 1)]


@given(st.lists(st.one_of(st.just(np.nan), st.floats(-1, 1)), min_size=1, max_size=8), st.sampled_from(list(Direction)))
def test_with_one_member_consensus_and_each_agree(goals, direction):
    array = np.array([goals])
    assert consensus(array, direction) == each(array, direction)


def test_the_log_mean_is_geometric():
    assert log(np.array([[1e-4], [1e-2]]), LOG) == pytest.approx([1e-3])
    assert arithmetic(np.array([[1e-4], [1e-2]]), LOG) == pytest.approx([5.05e-3])
