import dataclasses
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.curves import diverged_run, toy_run, toy_runs

from lodestar.doctor.diverged import blown_up, ending, running_mean, stuck_beside, why_unusable
from lodestar.runs import Series, Status


def test_a_good_run_is_usable():
    assert why_unusable(toy_run("a")) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lr": Series.empty()}, "no learning rate"),
        ({"metric": Series.empty()}, "no finite metric"),
        ({"metric": Series([10], [np.nan])}, "no finite metric"),
        ({"lr": Series([10, 20], [0.0, 0.0])}, "zero throughout"),
        ({"loss": Series([1, 2, 3], [1.0, 0.9, 0.8])}, "only 3 finite losses"),
        ({"status": Status.DIVERGED}, "as its status says"),
        ({"loss": Series(range(1, 9), [3, 2, 1, np.inf, 1, 1, 1, 1])}, "loss is inf at step 4"),
        ({"loss": Series(range(1, 21), [3.0, *[1.0] * 9, *[2.9] * 10])}, "ended at 2.9"),
        ({"loss": Series(range(1, 11), np.linspace(1, 2, 10))}, "never learned"),
    ],
)
def test_each_reason_is_a_sentence(change, says):
    reason = why_unusable(toy_run("a").replace(**change))
    assert reason is not None
    assert says in reason


def test_a_stray_nan_is_a_gap_not_a_divergence():
    run = toy_run("a")
    values = run.loss.values.copy()
    values[[7, 30]] = np.nan
    assert why_unusable(run.replace(loss=Series(run.loss.steps, values))) is None


def test_the_reason_for_nan_names_value_and_step():
    reason = why_unusable(diverged_run().replace(status=Status.FINISHED))
    assert reason is not None
    assert "nan at step 310" in reason


def _stuck(name, peak):
    """A spike at the start, then a plateau: its own loss looks like progress."""
    run = toy_run(name, "constant", peak)
    flat = np.full(len(run.metric), 0.1)
    return run.replace(metric=Series(run.metric.steps, flat))


def test_a_high_rate_run_far_behind_the_others_is_stuck():
    runs = [*toy_runs(), _stuck("flat", 0.5)]
    found = stuck_beside([ending(run) for run in runs])
    assert list(found) == ["flat"]
    assert "ended at 0.1" in found["flat"]


def test_a_slow_run_with_a_low_rate_stays():
    assert stuck_beside([ending(run) for run in [*toy_runs(), _stuck("slow", 1e-6)]]) == {}


def test_among_a_handful_of_runs_nobody_is_judged_by_the_others():
    few = [dataclasses.replace(ending(toy_run(str(i))), last=0.1 * i, peak_lr=1.0 + i) for i in range(4)]
    assert stuck_beside(few) == {}


def slowly(values: np.ndarray) -> tuple[float, float, float]:
    """What `blown_up` judges by (start, best, end), every window summed by itself."""
    tenth = max(1, len(values) // 10)
    means = [float(np.sum(values[at : at + tenth] / tenth)) for at in range(len(values) - tenth + 1)]
    return float(np.median(values[: max(1, tenth // 2)])), min(means), means[-1]


losses = st.one_of(st.floats(-10, 10), st.floats(1e-6, 1e12))


@settings(max_examples=80, deadline=None)
@given(st.lists(losses, min_size=5, max_size=120))
def test_a_blown_up_run_is_told_as_by_summing_every_window(values):
    start, best, end = slowly(np.array(values))
    line = best + 0.5 * (start - best)
    rounding = 1e-9 * max(map(abs, values))
    assume(abs(start - best) > rounding and abs(end - line) > rounding)
    said = blown_up(toy_run("a").replace(loss=Series(range(len(values)), values)))
    assert (said or "fine").split(":")[0] == (
        "never learned" if best >= start else "diverged" if end > line else "fine"
    )


def test_a_running_mean_keeps_small_losses_behind_a_large_one():
    values = np.array([1e30, *np.linspace(1, 0.5, 99)])
    np.testing.assert_allclose(running_mean(values, 10)[1:], np.convolve(values[1:], np.full(10, 0.1), "valid"))


def test_a_constant_loss_never_learned_whatever_its_length():
    for length in range(5, 200):
        said = blown_up(toy_run("a").replace(loss=Series(range(length), np.full(length, 0.1))))
        assert said is not None and said.startswith("never learned")


def test_a_long_run_is_judged_in_a_moment():
    points = 1_000_000
    loss = Series(np.arange(points), 1 / np.sqrt(np.arange(1.0, points + 1)))
    run = toy_run("a").replace(loss=loss, total_steps=points)
    began = time.process_time()
    assert blown_up(run) is None
    assert time.process_time() - began < 5  # summing every window took over a minute
