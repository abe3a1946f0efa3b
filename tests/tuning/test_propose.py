import numpy as np
import pytest
from tests.responding import TOTAL, drawn, run_of, runs

from lodestar.runs import Direction, Facts, Series, Status
from lodestar.schedules import Schedule, parse
from lodestar.sweep import QuasiRandom, Range
from lodestar.tuning.propose import Prospect, expected_gain, propose, within
from lodestar.tuning.sizes import Sizes

SPACE = QuasiRandom(peak=Range(3e-4, 1e-2, log=True))


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


def test_a_proposal_moves_with_the_size():
    past = [sized(size, seed) for seed in range(8) for size in (16, 64)]
    given = {"number": 16, "seed": 0, "sizes": Sizes((16, 64))}
    small, full = (propose(past, SPACE, [size], TOTAL, **given) for size in (16, 64))  # the same one, at each size
    assert small is not None and full is not None
    assert [found.trials[0].settings["size"] for found in (small, full)] == [16, 64]
    assert small.trials[0].schedule is not None and full.trials[0].schedule is not None
    assert 2 < small.trials[0].schedule.peak / full.trials[0].schedule.peak < 8
    ends = [run.final_metric for run in past if run.facts.extra["size"] == 64]
    assert small.final == full.final and max(ends) - 0.05 < full.final < 1.0  # of the full job, both
