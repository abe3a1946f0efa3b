"""Slips that would ruin a run in silence: each is said once, to the logger and to `warnings`, early in the run."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from tests.scheduler.live import loss_at, metric_at, train

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.transform import Kind, Transform
from lodestar.scheduler import Scheduler
from lodestar.scheduler.safety import checks
from lodestar.testing import random_forecaster

TOTAL = 400
EARLY = TOTAL // 20 + 1  # the first step after 5 % of the run
FORECASTER = random_forecaster(seed=5, points=40)


def drive(
    one: Scheduler, stop: int, loss: float | None = 1.0, metric: float | None = 1.0, every: int = 10
) -> Scheduler:
    """The first steps of a job, its losses and metrics times a factor; None: never observed."""
    for step in range(1, stop + 1):
        one.lr_at(step)
        due = metric is not None and step % every == 0
        one.observe(
            step,
            loss=None if loss is None else loss * loss_at(step, TOTAL),
            metric=metric * metric_at(step, TOTAL) if due and metric is not None else None,
        )
    return one


SLIPS = [
    ({"loss": None}, "no loss was observed in the first 5% of the run: .* Fix: observe"),
    ({"metric": None}, "no metric was observed in the first 5% of the run; .* Fix: observe"),
    ({"metric": 100.0}, "fitted to shares in 0 to 1: per cent. Fix: observe.metric=value / 100"),
    ({"loss": 128.0}, "times the highest that any past run had at this point: is it summed .* Fix: observe the mean"),
]


@pytest.mark.parametrize(("slip", "words"), SLIPS)
def test_a_slip_is_said_within_5_percent_of_the_run(slip, words, caplog):
    one = Scheduler(FORECASTER, TOTAL)
    with pytest.warns(UserWarning, match=words):
        drive(one, EARLY, **slip)
    assert len(set(one.warnings)) == len(one.warnings)
    assert [record.getMessage() for record in caplog.records] == one.warnings


@pytest.mark.parametrize(("slip", "words"), SLIPS)
def test_it_is_said_once_and_never_again_after_a_resume(slip, words):
    one = Scheduler(FORECASTER, TOTAL, gate=None)
    with pytest.warns(UserWarning, match=words):
        drive(one, EARLY, **slip)
    again = Scheduler(FORECASTER, TOTAL, gate=None)
    again.load_state_dict(json.loads(json.dumps(one.state_dict())))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        drive(again, TOTAL, **slip)
    assert not [w for w in said if str(w.message) in one.warnings]


def test_the_warning_names_the_line_of_the_job():
    with pytest.warns(UserWarning) as said:
        drive(Scheduler(FORECASTER, TOTAL), EARLY, loss=None)
    assert said[0].filename == __file__


def test_a_filter_that_makes_errors_of_warnings_does_not_end_the_job():
    one = Scheduler(FORECASTER, TOTAL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drive(one, TOTAL, loss=None)
    assert any("no loss was observed" in text for text in one.warnings)


def test_a_job_without_slips_is_met_in_silence():
    one = Scheduler(FORECASTER, TOTAL, tolerance=1000.0)
    train(one, 1, TOTAL)
    assert one.warnings == []


def test_a_metric_is_not_missed_before_past_runs_had_theirs():
    mask = FORECASTER.references.mask.copy()
    mask[:, :8, 1] = False  # the first fifth
    late = dataclasses.replace(FORECASTER, references=dataclasses.replace(FORECASTER.references, mask=mask))
    one = drive(Scheduler(late, TOTAL), 2 * TOTAL // 5, metric=None)
    assert not any("no metric" in text for text in one.warnings)
    with pytest.warns(UserWarning, match="no metric was observed in the first 45% of the run; .* theirs after 22.5%"):
        drive(one, TOTAL // 2, metric=None)


def per_cent() -> Forecaster:
    """The same forecaster for a metric in per cent, 20 or more throughout."""
    metric = dataclasses.replace(
        FORECASTER.recipe.normaliser.metric, transform=Transform(Kind.COMPLEMENT, floor=1e-3, top=100.0)
    )
    recipe = dataclasses.replace(
        FORECASTER.recipe, normaliser=dataclasses.replace(FORECASTER.recipe.normaliser, metric=metric)
    )
    low = FORECASTER.ranges.low.copy()
    low[:, 1] = metric.forward(20.0)
    return dataclasses.replace(FORECASTER, recipe=recipe, ranges=dataclasses.replace(FORECASTER.ranges, low=low))


def validated_each(points: int) -> Forecaster:
    """As fitted to runs with a metric in one of so many points."""
    references = FORECASTER.references
    mask = references.mask.copy()
    mask[..., 1] = np.arange(mask.shape[1]) % points == points - 1
    return dataclasses.replace(FORECASTER, references=dataclasses.replace(references, mask=mask))


def test_a_length_ten_times_too_large_is_said_early_by_the_pace_of_validations():
    """Past runs of 40 steps each validated 4 times; so does this job, in every 10 steps of what it says are 400."""
    one = Scheduler(validated_each(10), TOTAL)
    with pytest.warns(UserWarning, match="10 times as often .* after some 40 of total_steps=400 updates.* Fix: count"):
        drive(one, EARLY)


@pytest.mark.parametrize("every", [20, 40])
def test_the_pace_of_validations_may_differ_a_little(every):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drive(Scheduler(validated_each(4), TOTAL, tolerance=1000.0), TOTAL // 2, every=every).warnings == []


def test_a_share_where_the_forecaster_knows_per_cent():
    with pytest.warns(UserWarning, match="fitted to per cent, 20 or more at this point: a share. Fix"):
        drive(Scheduler(per_cent(), TOTAL, gate=None), EARLY)


def test_observing_without_ever_asking_for_the_rate():
    one = Scheduler(FORECASTER, TOTAL)
    with pytest.warns(UserWarning, match="step 21 was observed, but the rate was last asked for at step 0"):
        for step in range(1, EARLY + 1):
            one.observe(step, loss=1.5)


@pytest.mark.parametrize(
    ("updates", "calls", "kind"),
    [
        (20, 0, "step not called"),
        (50, 2, "step not called"),  # once an epoch
        (50, 50, None),
        (50, 53, None),  # a GradScaler skips a few at the start
        (50, 200, "updates fewer"),  # four batches an update
        (50, 65, "updates fewer"),  # a GradScaler that skips on and on
    ],
)
def test_counts_of_updates_and_calls(updates, calls, kind):
    found = checks.counted(updates, calls, 1000)
    assert (found and found[0]) == kind


def test_the_pace_says_how_many_updates_it_makes():
    found = checks.counted(50, 200, 1000)
    assert found is not None
    assert (
        "step() was called 200 times for 50 updates, 4 times for each: at this pace the run makes 250 updates"
        in found[1]
    )
