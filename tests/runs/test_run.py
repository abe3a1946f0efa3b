"""`Run` refuses what breaks a rule, naming the run, the column and the first bad step; and keeps what is merely odd."""

import math

import numpy as np
import pytest

from lodestar._errors import RunError
from lodestar.runs import Direction, Run, Series, Status


def test_series_are_read_only(make_run):
    with pytest.raises(ValueError, match="read-only"):
        make_run().loss.values[0] = 1.0


def test_nan_and_inf_losses_are_kept(make_run):
    run = make_run(loss=Series([1, 2, 3], [1.0, math.inf, math.nan]))
    assert run.loss == Series([1, 2, 3], [1.0, math.inf, math.nan])


def test_zero_lr_is_allowed(make_run):
    assert make_run(lr=Series([1, 2], [0.1, 0.0])).peak_lr == 0.1


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_an_impossible_lr_is_named_with_its_step(make_run, bad):
    with pytest.raises(RunError, match=r"'odd', lr.*at step 20.*Fix"):
        make_run("odd", lr=Series([10, 20], [0.1, bad]))


@pytest.mark.parametrize("steps", [[1, 2, 2], [1, 3, 2]])
def test_steps_must_increase(make_run, steps):
    with pytest.raises(RunError, match="steps must increase, but step 2 follows"):
        make_run(loss=Series(steps, [1.0, 1.0, 1.0]))


def test_negative_steps_are_refused(make_run):
    with pytest.raises(RunError, match="must not be negative"):
        make_run(loss=Series([-1, 0], [1.0, 1.0]))


@pytest.mark.parametrize("bad", [0.5, math.nan, math.inf, 1e300])
def test_steps_that_are_no_whole_numbers_are_refused(bad):
    with pytest.raises(RunError, match=r"whole numbers.*Fix"):
        Series([1.0, bad], [1.0, 1.0])


def test_a_run_needs_a_loss(make_run):
    with pytest.raises(RunError, match="no training loss"):
        make_run(loss=Series.empty())


def test_metric_and_lr_may_be_missing(make_run):
    run = make_run(metric=Series.empty(), lr=Series.empty())
    assert math.isnan(run.final_metric)
    assert math.isnan(run.peak_lr)


@pytest.mark.parametrize("name", ["", "   "])
def test_a_name_must_say_something(make_run, name):
    with pytest.raises(RunError, match="non-empty"):
        make_run(name)


def test_the_planned_length_cannot_be_passed(make_run):
    with pytest.raises(RunError, match="total_steps is 5, but steps go up to 500"):
        make_run(total_steps=5)


def test_a_long_and_a_foreign_name_are_fine(make_run):
    assert make_run("ラン/" * 3000).name == "ラン/" * 3000


def test_plain_words_become_enums():
    run = Run("r", Series([1], [1.0]), Series.empty(), Series.empty(), "min", "cut short")  # pyright: ignore
    assert (run.direction, run.status) == (Direction.MIN, Status.CUT_SHORT)


def test_until_keeps_the_step_itself():
    assert Series([1, 5, 9], [1.0, 2.0, 3.0]).until(5) == Series([1, 5], [1.0, 2.0])


def test_runs_with_equal_data_are_equal(make_run):
    assert make_run() == make_run()
    assert make_run() != make_run(loss=Series(np.arange(3), [1.0, 1.0, 1.0]))
