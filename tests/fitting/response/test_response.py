"""The response as fitted: ranks schedules nobody ran, follows a run, knows how unsure it is."""

import dataclasses

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, expected_loss, responding_forecaster, run_of, runs

from lodestar.fitting.dataset import prepare
from lodestar.fitting.quality import spearman
from lodestar.fitting.response.blend import convex, latent_prior, latent_shares
from lodestar.fitting.response.cells import cell_runs
from lodestar.fitting.response.laws import fit_law
from lodestar.fitting.response.response import fit_response
from lodestar.forecaster import Forecaster
from lodestar.forecaster.known_schedules import judge, response_of
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.forecaster.response.history import CELLS, Clock, on_cells
from lodestar.forecaster.response.mixture import SHARES
from lodestar.forecaster.response.neighbours import Neighbours
from lodestar.forecaster.response.power_law import power_law_final
from lodestar.runs import Direction, Series

UNSEEN = range(100, 130)


def finals(direction: Direction = Direction.MAX) -> np.ndarray:
    loss = np.array([expected_loss(drawn(seed).rates)[-1] for seed in UNSEEN])
    return np.exp(-0.5 * loss) if direction is Direction.MAX else 1.1 * loss


@pytest.mark.parametrize("direction", list(Direction))
def test_schedules_never_run_are_ranked_before_the_first_step(direction):
    forecaster = responding_forecaster(24, direction)
    judged = judge(forecaster, np.stack([drawn(seed).rates for seed in UNSEEN]))
    assert spearman(judged.centre, finals(direction)) > 0.9
    sign = 1 if direction is Direction.MAX else -1
    assert spearman(judged.merit, sign * finals(direction)) > 0.85


def test_intervals_hold_what_they_say_of_runs_never_seen():
    forecaster = responding_forecaster()
    judged = judge(forecaster, np.stack([drawn(seed).rates for seed in UNSEEN]), level=0.8)
    truth = np.array([run_of(drawn(seed), seed).metric.values[-1] for seed in UNSEEN])
    assert 0.6 <= np.mean((judged.lower <= truth) & (truth <= judged.upper)) <= 1.0
    wide = judge(forecaster, np.stack([drawn(seed).rates for seed in UNSEEN]), level=0.95)
    assert np.all(wide.upper - wide.lower >= judged.upper - judged.lower)


def test_a_run_that_departs_from_its_forecast_is_followed():
    forecaster = responding_forecaster()
    schedule = drawn(UNSEEN[0])
    lucky, unlucky = (run_of(schedule, 1000, luck=luck) for luck in (-0.15, 0.15))
    seen = [judge(forecaster, schedule.rates[None], forecaster.context_of(run, 0.6)) for run in (lucky, unlucky)]
    off = [abs(found.centre[0] - run.metric.values[-1]) for found, run in zip(seen, (lucky, unlucky), strict=True)]
    assert max(off) < 0.35 * abs(lucky.metric.values[-1] - unlucky.metric.values[-1])


def test_intervals_shrink_as_a_run_like_the_past_ones_goes_on():
    forecaster = responding_forecaster()
    seen = {share: [_width(forecaster, seed, share) for seed in UNSEEN] for share in (0.0, 0.6, 0.9)}
    assert np.median(seen[0.9]) < np.median(seen[0.6]) < np.median(seen[0.0])


def _width(forecaster: Forecaster, seed: int, share: float) -> float:
    schedule = drawn(seed)
    context = forecaster.context_of(run_of(schedule, seed), share) if share else None
    judged = judge(forecaster, schedule.rates[None], context)
    return float(judged.upper[0] - judged.lower[0])


def test_five_runs_are_enough_to_say_something_and_to_be_unsure():
    assert responding_forecaster(5).quality["response_runs"] == 5
    few, many = (
        judge(forecaster, np.stack([drawn(seed).rates for seed in UNSEEN]))
        for forecaster in (responding_forecaster(5), responding_forecaster())
    )
    assert spearman(few.centre, finals()) > 0.6
    assert np.median(few.upper - few.lower) > np.median(many.upper - many.lower)


def test_too_few_finished_runs_give_no_response():
    assert fit_response(prepare(runs(2)), seed=0) is None


def test_a_metric_of_no_known_kind_needs_no_law():
    made = fit_response(prepare(runs(8), metric_kind="any"), seed=0)
    assert made is not None
    assert made[0].metric.law is None


def test_the_same_seed_gives_the_same_response():
    one, other = (fit_response(prepare(runs(6)), seed=3) for _ in range(2))
    assert one is not None and other is not None
    assert np.array_equal(one[0].metric.posterior.weights, other[0].metric.posterior.weights)


def test_a_law_finds_its_own_numbers():
    rates = on_cells(np.stack([drawn(seed).rates for seed in range(6)]))
    clock, at = Clock.of(rates), np.array([5, 20, 50, 80, 99])
    past = clock.look(rates, at)
    truth = 0.2 + 0.5 * past.progress**-0.5 + 3.0 * past.annealing([(100.0, 1.0)])[0]
    law = fit_law(clock, rates, at, truth, np.ones(truth.shape, dtype=bool))
    assert np.all(law.coefficients >= 0)
    new = on_cells(np.stack([drawn(seed).rates for seed in UNSEEN]))
    later = clock.look(new, at)
    real = 0.2 + 0.5 * later.progress**-0.5 + 3.0 * later.annealing([(100.0, 1.0)])[0]
    assert np.exp(law.log_level(later)) == pytest.approx(real, rel=0.1)


def test_weights_add_up_to_one_and_go_to_the_way_that_is_right():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    made = np.stack([truth + 0.01 * rng.normal(size=40), rng.normal(size=40), rng.normal(size=40)], axis=1)
    weights = convex(made, truth, np.ones(40), np.full(3, 1 / 3), ridge=2.0)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.9 and np.all(weights >= 0)


def test_the_latent_ode_has_no_share_where_it_learned_from_few_runs():
    centre, truth = np.zeros((len(SHARES), 6)), np.ones(6)
    assert np.all(latent_shares(centre, np.ones_like(centre), truth, learned=15) == 0.0)


def test_the_latent_ode_s_share_is_the_prior_s_where_no_run_was_held_out():
    nothing = np.full((len(SHARES), 6), np.nan)
    assert latent_shares(np.zeros_like(nothing), nothing, np.ones(6), learned=80) == pytest.approx(latent_prior(80))


def test_the_latent_ode_s_share_grows_where_it_is_right_and_shrinks_where_it_is_wrong():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    centre = np.tile(truth + 0.3 * rng.normal(size=40), (len(SHARES), 1))
    right, wrong = np.tile(truth, (len(SHARES), 1)), centre + rng.normal(size=centre.shape)
    assert np.all(latent_shares(centre, right, truth, learned=80) > 0.5)
    assert np.all(latent_shares(centre, wrong, truth, learned=80) < 0.7 * latent_prior(80))


def test_nearest_past_runs_go_on_from_where_the_run_stands():
    stands = np.zeros((3, CELLS, 2))
    stands[:, :, 1] = np.array([0.0, 1.0, 5.0])[:, None] + np.linspace(0, 1, CELLS) * np.array([1.0, 2.0, 3.0])[:, None]
    past = Neighbours.of(np.full((3, CELLS), 1e-3), stands)
    stand = np.zeros((CELLS, 2))
    stand[:, 1] = 1.1 + np.linspace(0, 1, CELLS) * 2.0  # the second run, a tenth above
    nearest, several = past.finals(np.full((1, CELLS), 1e-3), stand, (0, 0), (-1, 49))
    assert nearest == pytest.approx(3.1)
    assert 2.6 < several[0] < 4.2  # the others stand further off, and count less


def test_a_run_changes_no_more_than_past_runs_did_and_half_of_that():
    stands = np.zeros((2, CELLS, 2))
    stands[0, :50, METRIC], stands[1, :50, METRIC] = -1.0, 0.5  # from there on they still gain 1.0 and lose 0.5
    past = Neighbours.of(np.full((2, CELLS), 1e-3), stands)
    assert past.reach(49) == pytest.approx((-0.5 - 0.75, 1.0 + 0.75))
    assert past.reach(80) == pytest.approx((0.0, 0.0))


def test_a_curve_stays_where_training_can_be_even_far_beyond_all_past_rates():
    forecaster = responding_forecaster()
    response, rates = response_of(forecaster), np.full((1, CELLS), 1e4 * drawn(0).peak)
    wild = response.curves(rates, None, np.arange(CELLS))[0][0]
    past = response.neighbours.stands
    for channel, part in enumerate((response.loss, response.metric)):
        spare = past[:, -1, channel].min() - part.low
        assert wild[:, channel].min() >= past[..., channel].min() - spare - 1e-9
        assert wild[:, channel].max() <= past[..., channel].max() + spare + 1e-9


def test_a_power_law_is_continued_through_the_last_value():
    time = (np.arange(CELLS) + 1.0) / CELLS
    assert power_law_final(0.3 + 0.1 * time**-0.5, 0, 39) == pytest.approx(0.4, abs=5e-3)
    assert power_law_final(time, 0, 2) == time[2]  # three values tell of no law


def test_a_run_far_out_comes_back_early_on_and_stays_later():
    metric = response_of(responding_forecaster()).metric
    far = metric.high + 10.0
    assert metric.clipped(np.array([far]), far, 0.05)[0] == metric.high
    assert metric.clipped(np.array([far]), far, 0.9)[0] == far
    assert metric.clipped(np.array([metric.low - 1.0]), far, 0.9)[0] == metric.low


def test_a_run_cut_short_teaches_only_what_it_logged():
    whole, cut = runs(5), run_of(drawn(50), 50)
    series = {
        name: Series(part.steps[part.steps <= TOTAL // 2], part.values[part.steps <= TOTAL // 2])
        for name, part in (("loss", cut.loss), ("metric", cut.metric), ("lr", cut.lr))
    }
    made = cell_runs(prepare([*whole, dataclasses.replace(cut, **series)]))
    assert made.whole.tolist() == [True] * 5 + [False]
    assert not made.known[5, 52:].any() and made.known[5, 30:48].all()
