"""What a function reports, and the run that is made of it; when a trial counts as lost."""

import math
import sys
import threading

import numpy as np
import pytest

from lodestar.runs import Status
from lodestar.schedules import cosine
from lodestar.sweep import Job, Schedule, Trial
from lodestar.sweep.events import TrialCut
from lodestar.sweep.lost import Lost
from lodestar.sweep.recorder import Recorder


def recorder(steps=100, **named):
    return Recorder(Trial("t", 3, steps, cosine(0.1, steps), {"width": 8}), **named)


def test_a_run_has_the_losses_the_metrics_and_the_schedules_rates():
    report = recorder()
    for step in range(1, 101):
        report(step, loss=1 / step)
        if step % 10 == 0:
            report(step, metric=step)
    run = report.as_run(Job(task="digits", metric_name="accuracy"), {"test": 0.9})
    assert run.status is Status.FINISHED
    assert len(run.loss) == 100 and len(run.metric) == 10
    assert np.array_equal(run.lr.values, cosine(0.1, 100).rates)
    assert run.metric_name == "accuracy" and run.facts.task == "digits"
    assert (run.facts.schedule, run.facts.peak_lr, run.facts.seed, run.facts.source) == ("cosine", 0.1, 3, "sweep")
    assert run.facts.extra["width"] == 8 and run.facts.extra["test"] == 0.9
    assert run.notes == ()


def test_threads_that_report_at_once_do_not_mix_their_values():
    report = Recorder(Trial("t", 0, 20_000), cut_diverged=False)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        spans = [range(first, 20_001, 4) for first in range(1, 5)]
        threads = [threading.Thread(target=lambda s=s: [report(step, loss=step) for step in s]) for s in spans]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    run = report.as_run(Job())
    assert run.loss.values.tolist() == run.loss.steps.tolist() == list(range(1, 20_001))


def test_the_functions_own_rate_wins_over_the_schedules():
    report = recorder(2)
    report(1, loss=1)
    report(2, loss=1, lr=0.7)
    assert report.as_run(Job()).lr.values.tolist() == [0.1, 0.7]


def test_arrays_and_tensors_of_one_number_are_numbers():
    report = recorder()
    report(np.int64(1), loss=np.array([2.0]), metric=np.float32(0.5))  # pyright: ignore[reportArgumentType]
    assert report.as_run(Job()).loss.values.tolist() == [2.0]


def test_steps_reported_twice_or_backwards_are_merged_with_a_note():
    report = recorder(10)
    for step, loss in ((1, 1.0), (2, 2.0), (3, 3.0), (2, 2.5), (3, 3.5), (10, 0.0)):
        report(step, loss=loss)
    run = report.as_run(Job())
    assert run.loss.values.tolist() == [1.0, 2.5, 3.5, 0.0]
    assert run.notes == ("loss: steps 2-3 reported more than once; the last value of each was kept",)


def test_a_run_that_ends_early_is_cut_short_and_one_that_goes_too_far_says_so():
    early, far = recorder(), recorder(10)
    early(1, loss=1)
    early(2, loss=1)
    far(12, loss=1)
    assert early.as_run(Job()).status is Status.CUT_SHORT
    run = far.as_run(Job())
    assert run.total_steps == 12 and "10 were planned" in run.notes[0]


def test_a_last_report_one_interval_before_the_end_is_an_end():
    report = recorder()
    for step in range(0, 100, 10):
        report(step, loss=1)
    assert report.as_run(Job()).status is Status.FINISHED


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"step": -1, "loss": 1}, "step must be a whole number"),
        ({"step": 1.5, "loss": 1}, "step must be a whole number"),
        ({"step": "x", "loss": 1}, "step must be a whole number"),
        ({"step": math.nan, "loss": 1}, "step must be a whole number"),
        ({"step": 1, "loss": "low"}, "loss must be a number"),
        ({"step": 1, "metric": np.ones(3)}, "metric must be a number"),
        ({"step": 1, "loss": 1, "lr": -1}, "lr must be a finite number"),
        ({"step": 1}, "says nothing"),
    ],
)
def test_bad_reports_are_refused_with_the_fix(given, told):
    with pytest.raises(ValueError, match=told) as caught:
        recorder()(**given)
    assert "Fix:" in str(caught.value)


def test_a_lost_loss_cuts_the_trial_and_the_run_is_kept_as_diverged():
    report = recorder()
    with pytest.raises(TrialCut, match="not finite"):
        for step in range(1, 101):
            report(step, loss=math.nan if step > 20 else 1.0)
    with pytest.raises(TrialCut):
        report(99, loss=1.0)
    run = report.as_run(Job())
    assert run.status is Status.DIVERGED
    assert run.last_step == 23 and run.total_steps == 100
    assert "cut at step 23 of 100" in run.notes[0]


def test_nothing_is_cut_if_not_wanted():
    report = recorder(cut_diverged=False)
    for step in range(1, 101):
        report(step, loss=math.inf)
    assert report.as_run(Job()).status is Status.DIVERGED


def test_without_a_schedule_or_a_rate_the_run_says_so():
    report = Recorder(Trial("t", 0, 1))
    report(1, loss=1)
    run = report.as_run(Job())
    assert len(run.lr) == 0 and "no learning rate" in run.notes[0]
    assert run.facts.schedule is None and run.facts.peak_lr is None


def test_progress_is_told_now_and_then_only():
    told = []
    report = recorder(10_000, on_progress=lambda *values: told.append(values))
    for step in range(1, 10_001):
        report(step, loss=1.0)
    assert told[0] == (1, 1.0, None)
    assert len(told) < 50


def first_lost(losses, total=100):
    lost = Lost(total)
    return next((step for step, loss in enumerate(losses, start=1) if lost.judge(step, loss)), None)


def test_a_stray_nan_is_no_loss_but_three_in_a_row_are():
    assert first_lost([2.0, math.nan, 2.0, math.nan, math.nan, 2.0] * 10) is None
    assert first_lost([2.0, math.nan, math.inf, math.nan]) == 4


def test_a_loss_that_stays_far_up_is_lost_after_a_fifth_of_the_run():
    falling = [2.0 - 0.02 * step for step in range(30)]
    assert first_lost(falling + [50.0] * 70) == 51


def test_a_spike_that_comes_down_is_not_lost():
    assert first_lost([2.0] * 3 + [80.0] * 15 + [1.5] * 82) is None


def test_a_plateau_and_slow_rise_at_chance_level_are_not_lost():
    assert first_lost([2.3 + 0.005 * step for step in range(100)]) is None
    assert first_lost([0.0] * 100) is None


def test_few_reports_are_not_enough_to_judge_by():
    lost = Lost(100)
    assert [lost.judge(step, loss) for step, loss in ((1, 2.0), (30, 50.0), (60, 50.0), (100, 50.0))] == [None] * 4


def test_schedule_repr_is_short():
    assert repr(Schedule("s", [0.1] * 1000)) == "Schedule('s', 1000 updates, peak 0.1)"
