"""Other readings of Algorithm 1: a plain schedule to begin with, a choice that is held, and what files say of them."""

import dataclasses

import numpy as np
import pytest
from tests.scheduler.live import points_near, train

from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.scheduler import PAPER, Outcome, Scheduler, Settings
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.steps.plain_plan import mean_peak
from lodestar.scheduler.steps.steer import _if_known, steer
from lodestar.schedules import onecycle
from lodestar.testing import random_forecaster

TOTAL = 400
FORECASTER = random_forecaster(seed=5, points=40, references=6)


def test_a_plain_schedule_runs_until_the_first_decision():
    one = Scheduler(FORECASTER, TOTAL, preset="paper", initial_plan="onecycle:1e-3", tolerance=500.0)
    drawn = onecycle(1e-3, TOTAL).values()
    expected = np.clip(drawn[[9, 19]], one._caps.low, None)
    assert [one.lr_at(step) for step in (10, 20)] == pytest.approx(expected, rel=0.02)
    assert one.decisions[0].note == "a plain schedule, onecycle:1e-3, until a decision replaces it"
    train(one, 1, 21)
    assert one.decisions[-1].outcome is Outcome.REPLANNED


def test_without_a_rate_its_peak_is_that_of_the_best_past_runs():
    references = FORECASTER.references
    peaks = [float(np.max(FORECASTER.recipe.normaliser.lr.inverse(references.values[run, :, LR]))) for run in (0, 1)]
    assert mean_peak(FORECASTER, 2) == pytest.approx((peaks[0] * peaks[1]) ** 0.5)
    one = Scheduler(FORECASTER, TOTAL, preset="paper", initial_plan="constant", initial_runs=2)
    assert one.lr_at(1) == pytest.approx(min(mean_peak(FORECASTER, 2), one._caps.high), rel=1e-5)


@pytest.mark.parametrize("words", ["onecycl", "onecycle:x", "onecycle:1e-3:nothing=2", 3, "linear:-1"])
def test_words_that_are_no_schedule_are_refused_when_it_is_built(words):
    with pytest.raises(ValueError, match="Fix"):
        Settings(initial_plan=words)


def test_a_chosen_schedule_is_held_for_the_rest_of_the_run():
    live = points_near(FORECASTER, 0)
    live.mask[:, 0] = True
    chosen = Settings.from_dict({**PAPER.to_dict(), "tolerance": 500.0, "hold": 1.0})
    rng = np.random.default_rng
    begun = Scheduler(FORECASTER, TOTAL, preset="paper")._controller.initial
    first, planned = steer(FORECASTER, live, 2, chosen, rng(0), begun)
    assert first.outcome is Outcome.REPLANNED
    assert planned is not None
    later, other = steer(FORECASTER, live, 30, chosen, rng(0), planned)
    assert (later.outcome, other) == (Outcome.KEPT, None)
    assert later.note == "the schedule chosen at 5% of the run is held"


def test_a_hold_ends():
    held = Settings(hold=0.25)
    assert [held.holds(4, seen, 40) for seen in (5, 13, 14)] == [True, True, False]
    assert not held.holds(0, 5, 40)  # the initial plan was not chosen on evidence
    assert not Settings().holds(4, 5, 40)


def test_files_say_nothing_of_what_is_as_ever():
    later = {"acceptance", "tolerance_points", "noise_unit", "hold"}
    assert later.isdisjoint(Settings().to_dict())
    assert later.isdisjoint(PAPER.to_dict())
    other = Settings(acceptance="one-sided", tolerance_points=3, noise_unit="latent", hold=0.5)
    assert later <= set(other.to_dict())
    assert Settings(**other.to_dict()) == other


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"acceptance": "both"}, "acceptance"),
        ({"noise_unit": "z"}, "noise_unit"),
        ({"hold": 0.0}, "hold"),
        ({"tolerance_points": 1}, "tolerance_points"),
    ],
)
def test_each_is_checked(wrong, says):
    with pytest.raises(ValueError, match=f"{says}.*Fix"):
        Settings(**wrong)


@pytest.mark.parametrize(("near", "outcome"), [(4, Outcome.KEPT), (7, Outcome.REPLANNED)])
def test_a_plan_is_replaced_only_where_past_runs_are_a_guide(near, outcome):
    """Of the eight decisions before, so many found candidates near the run; this one does too."""
    live = points_near(FORECASTER, 0)
    live.mask[:, 0] = True
    chosen = Settings(**{**PAPER.to_dict(), "tolerance": 500.0, "least_near": 0.8})
    planned = Scheduler(FORECASTER, TOTAL, preset="paper")._controller.initial
    past = [Decision(outcome=Outcome.KEPT, samples=30, accepted=30 * (place < near)) for place in range(8)]
    past.insert(0, Decision(outcome=Outcome.INITIAL_PLAN))  # looked for nothing, and does not count
    decision, made = steer(FORECASTER, live, 18, chosen, np.random.default_rng(0), planned, past)
    assert decision.outcome is outcome and (made is None) == (outcome is Outcome.KEPT)
    assert (f"only {near + 1} of 9 decisions so far found" in decision.note) == (made is None)


def test_one_candidate_of_many_replaces_no_plan():
    live = points_near(FORECASTER, 0)
    live.mask[:, 0] = True
    chosen = Settings(**{**PAPER.to_dict(), "tolerance": 500.0, "least_near": 0.8})
    planned = Scheduler(FORECASTER, TOTAL, preset="paper")._controller.initial
    first, _ = steer(FORECASTER, live, 18, chosen, np.random.default_rng(0), planned)
    assert first.outcome is Outcome.REPLANNED and first.accepted == first.samples
    few = _if_known((first, planned), dataclasses.replace(first, accepted=2), (), 0.8)
    assert few[1] is None and "only 2 of 30 candidates are near this run" in few[0].note


def test_files_hold_what_release_one_did_not_do():
    assert {"least_near", "rescale_by"} <= set(Settings().to_dict())
    assert not set(PAPER.to_dict()) & {"least_near", "rescale_by", "hold", "acceptance"}
    assert [Settings.from_dict(one.to_dict()) for one in (Settings(), PAPER)] == [Settings(), PAPER]
