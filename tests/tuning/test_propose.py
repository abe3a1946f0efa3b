import math

import numpy as np
import pytest
from tests.responding import TOTAL, drawn, run_of, runs

from lodestar.runs import Direction, Facts, Series, Status
from lodestar.schedules import Schedule, parse
from lodestar.sweep import QuasiRandom, Range
from lodestar.tuning.choose import candidates, choose, read_tried
from lodestar.tuning.propose import Prospect, expected_gain, propose, told_gain, within
from lodestar.tuning.sizes import Sizes

SPACE = QuasiRandom(peak=Range(3e-4, 1e-2, log=True))
WIDE = QuasiRandom(peak=Range(3e-4, 1e-1, log=True))


@pytest.fixture(scope="module")
def prospect() -> Prospect:
    found = propose(runs(12), SPACE, 2, TOTAL, number=12, seed=3)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(4))
def test_of_the_next_eight_schedules_the_best_ends_better_than_all_tried_so_far(seed):
    past = runs(12)
    tried = max(run.final_metric for run in past)
    for number in range(12, 20):
        found = propose(past, SPACE, 1, TOTAL, number=number, seed=seed)
        assert found is not None and found.trials[0].schedule is not None
        past.append(run_of(found.trials[0].schedule, number, name=found.trials[0].name))
    assert max(run.final_metric for run in past[12:]) > tried + 0.01  # two deviations of luck


def test_trials_have_names_and_seeds_of_their_own_and_the_length_asked_for(prospect):
    assert [trial.name for trial in prospect.trials] == ["tune3-0012", "tune3-0013"]
    assert len({trial.seed for trial in prospect.trials}) == 2
    assert all(len(trial.schedule) == trial.total_steps == TOTAL for trial in prospect.trials)
    assert prospect.trials[0].schedule != prospect.trials[1].schedule


def test_the_forecast_of_the_best_schedule_has_an_interval_and_a_gain(prospect):
    assert prospect.lower < prospect.final < prospect.upper
    assert prospect.gain > 0 and prospect.worth


def test_too_few_runs_propose_nothing():
    assert propose(runs(2), SPACE, 1, TOTAL, number=2, seed=0) is None


def test_the_expected_gain_is_that_of_a_normal_variable():
    """By simulation: a variable 0.5 below the best, with a deviation of 1."""
    drawn = np.random.default_rng(0).normal(-0.5, 1.0, 400_000)
    found = expected_gain(np.array([-0.5, 2.0, -2.0]), np.array([1.0, 1e-9, 1e-9]))
    assert found[0] == pytest.approx(np.maximum(drawn, 0).mean(), rel=0.02)
    assert found[1:] == pytest.approx([2.0, 0.0])


def test_rates_above_which_runs_diverged_are_left_out():
    fine = run_of(parse("constant:1e-3", TOTAL), 1)
    lost = run_of(parse("constant:4e-3", TOTAL), 2, direction=Direction.MAX).replace(status=Status.DIVERGED)
    assert within([fine, lost], SPACE).peak.high == pytest.approx(2e-3)
    low = lost.replace(lr=run_of(parse("constant:5e-4", TOTAL), 3).lr)
    assert within([fine, low], SPACE) == SPACE  # it diverged below a rate that did well: no matter of the rate


def sized(size: float, seed: int):
    """At a quarter of the size, the same rates do a quarter as much, so that the best ones are four times as high."""
    asked = drawn(seed)
    run = run_of(Schedule("felt", asked.rates * size / 64), seed, name=f"size{size:g}-{seed}")
    lr = Series(run.lr.steps, asked.rates[run.lr.steps - 1])
    return run.replace(lr=lr, facts=Facts(extra={"size": size}))


def over(count: int) -> list:
    return [sized(size, 10 * seed + size) for seed in range(count) for size in (8, 16, 32)]


def test_the_plan_moves_with_the_size():
    """The rate that is best at a quarter of the size is four times as high; here no run was as large as either job."""
    past = over(8)
    near, far = (choose(past, WIDE, TOTAL, seed=0, most=1e-1, sizes=Sizes((8, 16, 32), job)) for job in (64, 256))
    assert near is not None and far is not None
    mean = [float(np.mean(found.schedule.rates)) for found in (near, far)]
    assert 1.8 < mean[0] / mean[1] < 5
    assert "the best rate falls as size^-" in near.law and near.unsure == ""


def test_from_few_runs_the_rate_far_beyond_them_is_said_to_be_a_guess():
    guess = choose(over(2), WIDE, TOTAL, seed=0, most=1e-1, sizes=Sizes((8, 16, 32), 2000))
    assert guess is not None and "to within a factor of" in guess.unsure and "Fix" in guess.unsure


def test_the_exponent_is_learned_with_its_doubt():
    few, many = (read_tried(over(count), Sizes((8, 16, 32), 128)) for count in (2, 12))
    assert few is not None and many is not None
    assert many.surface.exponent[0] == pytest.approx(1.0, abs=0.25)
    assert many.surface.exponent[1] < few.surface.exponent[1] <= 0.25


def test_for_a_job_beyond_the_sizes_a_trial_tells_most_for_its_work():
    past, sizes = over(3), Sizes((8, 16, 32), 128)
    found = propose(past, WIDE, [8, 8], TOTAL, number=9, seed=0, sizes=sizes, left=1.0)
    assert found is not None and found.worth and found.gain > 0 and found.lower < found.final < found.upper
    assert {trial.settings["size"] for trial in found.trials} <= {8, 16, 32}
    assert found.trials[0].schedule != found.trials[1].schedule
    little = propose(past, WIDE, [8], TOTAL, number=9, seed=0, sizes=sizes, left=0.05)
    assert little is not None and little.trials[0].settings["size"] == 8  # the others take more than is left


def test_where_trials_are_scarce_and_work_is_not_a_large_one_tells_more():
    past, sizes = over(3), Sizes((8, 16, 32), 128)
    given = {"number": 9, "seed": 0, "sizes": sizes}
    scarce = [propose(past, WIDE, [8], TOTAL, left=left, trials_left=3, **given) for left in (0.3, 1000.0)]
    assert all(found is not None for found in scarce)
    small, large = (float(found.trials[0].settings["size"]) for found in scarce if found)
    assert small < large == 32


def test_what_a_trial_tells_is_less_where_all_is_known():
    """Of schedules that are all alike there is nothing to choose, and nothing to be told."""
    past = read_tried(over(4), Sizes((8, 16, 32), 128))
    assert past is not None
    _, rates = candidates(WIDE, 0)
    gains = told_gain(past.surface, rates, rates, math.log(8 / 128), 0)
    alike = told_gain(past.surface, np.repeat(rates[:1], 20, axis=0), rates, math.log(8 / 128), 0)
    assert gains.max() > 0.01 * past.surface.scale
    assert np.isfinite(alike).any() and alike[np.isfinite(alike)].max() < 1e-6


def test_rates_that_diverge_at_one_size_are_moved_to_another():
    fine, lost = (run_of(parse(f"constant:{peak}", TOTAL), 1) for peak in (1e-3, 4e-3))
    found = within([fine, lost.replace(status=Status.DIVERGED)], WIDE, lambda run: 0.25)
    assert found.peak.high == pytest.approx(5e-4)
