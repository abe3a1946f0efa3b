"""Table 1: means, the best other method, what diverged or failed, and what each row cost."""

import dataclasses
import math

import pytest

from bench_testing.played import FIRST, LEARNER, OURS, OURS_PAPER, SHAPES, good, play
from lodestar.runs import Direction
from lodestar_bench.cost import cost
from lodestar_bench.estimate import in_words, seconds_left
from lodestar_bench.plan import TablePlan
from lodestar_bench.table import table

PLAN = TablePlan((*SHAPES, LEARNER, OURS, OURS_PAPER), SHAPES)


def test_rows_come_best_first_with_mean_and_std_of_the_test_metric():
    found = table(PLAN, play(PLAN)[0])
    assert [row.entrant.name for row in found.rows[:2]] == ["lodestar", "onecycle"]
    seeds = [0.001 * (seed % 7) for seed in range(1000, 1020)]
    assert found.rows[0].finals.mean == pytest.approx(0.82 - 0.01 + sum(seeds) / 20)
    assert found.rows[0].worst == pytest.approx(0.81)
    assert found.complete


def test_each_is_compared_with_the_best_other_and_ours_with_the_best_that_is_not_ours():
    found = table(PLAN, play(PLAN)[0])
    others = {row.entrant.name: row.other for row in found.rows}
    assert others["lodestar"] == "onecycle"
    assert others["lodestar-paper"] == "onecycle"
    assert others["onecycle"] == "lodestar"
    assert others["cosine"] == "lodestar"


def test_differences_are_paired_by_seed_and_positive_is_better():
    """Made-up seeds move both methods alike, so each pair differs by exactly 0.01."""
    row = table(PLAN, play(PLAN)[0]).row("lodestar")
    assert row.paired.count == 20
    assert row.paired.mean == pytest.approx(0.01)
    assert row.paired.above == 20
    assert row.welch.p < 1e-10


def test_where_smaller_is_better_signs_turn():
    row = table(PLAN, play(PLAN, lambda p: 1 - good(p), direction=Direction.MIN)[0]).row("lodestar")
    assert row.paired.mean == pytest.approx(0.01)
    assert row.worst == row.finals.high


def test_a_diverged_final_is_counted_and_pulls_the_mean_down():
    judge = lambda p: None if (p.entrant.name, p.seed) == ("onecycle", 1003) else good(p)  # noqa: E731
    row = table(PLAN, play(PLAN, judge)[0]).row("onecycle")
    assert (row.diverged, row.finals.count, row.worst) == (1, 20, FIRST)


def test_a_failed_final_is_counted_and_told():
    judge = lambda p: ValueError("oops") if (p.entrant.name, p.seed) == ("onecycle", 1003) else good(p)  # noqa: E731
    row = table(PLAN, play(PLAN, judge)[0]).row("onecycle")
    assert (row.failed, row.finals.count, row.complete) == (1, 19, False)


def test_a_method_that_never_ran_stands_last_with_the_reason():
    judge = lambda p: ValueError("no torch") if p.stage == "learn" and p.entrant is LEARNER else good(p)  # noqa: E731
    row = table(PLAN, play(PLAN, judge)[0]).rows[-1]
    assert (row.entrant, row.trouble, row.finals.count) == (LEARNER, "no torch", 0)


def test_a_table_half_done_is_partial():
    found = table(PLAN, play(PLAN, rounds=1)[0])
    assert not found.complete
    assert all(math.isnan(row.finals.mean) for row in found.rows)


def test_one_method_alone_has_no_other():
    plan = TablePlan(SHAPES[:1])
    row = table(plan, play(plan)[0]).rows[0]
    assert row.other is None
    assert math.isnan(row.welch.p)


def test_a_choice_at_the_end_of_the_grid_is_marked():
    found = table(PLAN, play(PLAN, lambda p: good(p) + (0 if math.isnan(p.value) else math.log10(p.value)))[0])
    assert found.row("cosine").at_the_end
    assert not found.row("rl-xu").at_the_end
    assert not table(PLAN, play(PLAN)[0]).row("cosine").at_the_end


def test_costs_count_tuning_learning_and_finals():
    results, _ = play(PLAN)
    found = cost(PLAN, SHAPES[0], results)
    assert (found.tuning_runs, found.learning_runs, found.final_runs) == (25, 0, 20)
    assert found.seconds == pytest.approx(45 * 6.0)
    assert found.epoch_seconds == pytest.approx(4.4 / 4)
    assert found.own_share == pytest.approx(0.4 / 4.4)


def test_compiling_is_not_charged_to_whoever_came_first():
    results, _ = play(PLAN)
    name = "tune/constant/0.0001/0"
    slow = dataclasses.replace(results.records[name], seconds=36.0, compile_seconds=30.0)
    slowed = dataclasses.replace(results, records={**results.records, name: slow})
    assert cost(PLAN, SHAPES[0], slowed) == cost(PLAN, SHAPES[0], results)


def test_lodestar_is_charged_for_all_the_runs_it_learned_from():
    results, _ = play(PLAN)
    found = cost(PLAN, OURS, results)
    assert (found.tuning_runs, found.final_runs) == (100, 20)
    assert found.seconds == pytest.approx(120 * 6.0 + 50.0)


def test_a_controller_is_charged_for_the_runs_it_trained_on():
    found = cost(PLAN, LEARNER, play(PLAN)[0])
    assert (found.tuning_runs, found.learning_runs, found.learning_seconds) == (0, 25, 50.0)


def test_what_is_left_is_told_in_time():
    assert seconds_left(PLAN, play(PLAN, rounds=0)[0], 2) is None
    assert seconds_left(PLAN, play(PLAN)[0], 2) == 0.0
    half = play(PLAN, rounds=1)[0]
    assert seconds_left(PLAN, half, 2) == pytest.approx((7 * 20 * 6.0 + 2 * 60.0) / 2)


@pytest.mark.parametrize(("seconds", "said"), [(4.2, "4 s"), (100, "2 min"), (4800, "1 h 20 min")])
def test_times_are_told_as_people_say_them(seconds, said):
    assert in_words(seconds) == said
