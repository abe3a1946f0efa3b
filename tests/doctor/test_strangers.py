"""Histories as strangers have them: logs that stop early, branches that begin late, several tasks in one store."""

import numpy as np
from tests.curves import toy_run, toy_runs

from lodestar.doctor import FindingKind, Severity, diagnose
from lodestar.doctor.diverged import ending, stuck_beside, why_unusable
from lodestar.fitting.dataset import prepare
from lodestar.runs import Facts, Run, Series, Status


def found(run: Run, kind: FindingKind):
    return [f for f in diagnose([*toy_runs(), run]).findings if f.check is kind and f.run == run.name]


def first_steps(total=181_165, until=100) -> Run:
    """Loss and rate of the warm-up alone; the metric goes on to the end."""
    steps, checks = np.arange(1, until + 1), np.linspace(total // 20, total, 20).astype(int)
    loss = Series(steps, 5 - steps / until)
    return toy_run("warm-up").replace(
        loss=loss,
        lr=Series(steps, 1e-3 * steps / until),
        metric=Series(checks, np.linspace(0.1, 0.9, 20)),
        total_steps=0,
    )


def branch(name="branch", seed=0, begins=3000, total=6000, drift=-0.005) -> Run:
    """Resumed half way: the loss is low from its first value on, and creeps through its noise."""
    steps = np.arange(begins, total + 1, 20)
    t = (steps - begins) / (total - begins)
    values = 2.3 + drift * t + 0.02 * np.random.default_rng(seed).normal(size=len(steps))
    values[-len(values) // 8 :] = np.minimum(values[-len(values) // 8 :], 2.3 + drift)
    values[:3] -= 0.03
    return toy_run(name).replace(
        loss=Series(steps, values),
        lr=Series(steps, 1e-3 * (1 - t)),
        metric=Series(steps[::10], 0.6 + 0.1 * t[::10]),
        total_steps=total,
    )


def test_a_rate_logged_for_the_warm_up_alone_is_not_held_to_the_end():
    run = first_steps()
    assert why_unusable(run) == "the learning rate is known for steps 1 to 100 of 181165 only"
    [finding] = found(run, FindingKind.INCOMPLETE)
    assert finding.severity is Severity.ERROR
    assert "steps 1 to 100 of 181165" in finding.sentence
    assert diagnose([*toy_runs(), run]).usable == 16


def test_what_is_unknown_of_a_rate_is_masked():
    run = toy_run("a")
    made = prepare([run.replace(lr=run.lr.until(400)), *toy_runs()])
    assert made.mask[0, :, 2].tolist() == [True] * 41 + [False] * 19
    assert made.mask[0, :, 1].all()
    [finding] = found(run.replace(lr=run.lr.until(400)), FindingKind.INCOMPLETE)
    assert finding.severity is Severity.WARNING
    assert "a learning rate for steps 10-400 of 600 only" in finding.sentence


def test_a_rate_logged_where_it_changes_is_held_as_long_as_before():
    run = toy_run("a", "step")
    assert prepare([run.replace(lr=Series([1, 200, 400], [3e-3, 1.5e-3, 1e-3])), *toy_runs()]).mask[0, :, 2].all()


def test_a_log_of_a_sliver_of_the_planned_run_is_not_usable():
    run = toy_run("a", total=600).replace(total_steps=181_165, status=Status.CUT_SHORT)
    assert why_unusable(run) == "only the first 600 of 181165 steps were logged (0.33%)"
    [finding] = found(run, FindingKind.INCOMPLETE)
    assert finding.severity is Severity.WARNING


def test_a_loss_that_stops_early_is_pointed_out():
    run = toy_run("a")
    [finding] = found(run.replace(loss=run.loss.until(100)), FindingKind.INCOMPLETE)
    assert "a loss for steps 10-100 of 600 only" in finding.sentence


def test_branches_that_begin_late_and_end_at_their_lowest_are_used_and_named():
    runs = [branch(f"branch-{seed}", seed) for seed in range(12)]
    assert [why_unusable(run) for run in runs] == [None] * 12
    [finding] = found(runs[0], FindingKind.LATE_START)
    assert "begins at step 3000 of 6000 (50%)" in finding.sentence
    assert not found(runs[0], FindingKind.DIVERGED)
    assert not found(toy_run("whole"), FindingKind.LATE_START)


def test_a_branch_that_blows_up_is_still_excluded():
    reason = why_unusable(branch(drift=4.0).replace(status=Status.FINISHED))
    assert reason is not None and "where its log begins" in reason


def test_stuck_is_judged_within_a_task():
    """A hard task's best runs end below an easy one's: that is no plateau."""
    easy = list(toy_runs())
    hard = [
        toy_run(f"hard-{i}", "cosine", 0.02 + 0.01 * i).replace(
            facts=Facts(task="hard"), metric=Series(np.arange(10, 601, 10), np.linspace(0.0, 0.04 + 0.004 * i, 60))
        )
        for i in range(6)
    ]
    assert stuck_beside([ending(run) for run in (*easy, *hard)]) == {}
    assert len(prepare([*easy, *hard])) == 22
