"""The protocol as data: equal budgets, choice by mean validation, common fresh seeds, and what waits for what."""

import dataclasses
import math

import pytest

from bench_testing.played import FIRST, GRID, LEARNER, OURS, SHAPES, good, play
from lodestar.runs import Direction, Facts, Status
from lodestar_bench._errors import BenchError
from lodestar_bench.entrant import Entrant
from lodestar_bench.plan import TablePlan, records_of
from lodestar_bench.results import Record, Results

COSINE = SHAPES[1]
NOTHING = Results(Direction.MAX, "accuracy", {})


def whole(**changes):
    return TablePlan((*SHAPES, LEARNER, OURS), SHAPES, **changes)


def test_each_method_tunes_with_25_runs_and_is_judged_on_20_fresh_seeds():
    plan = whole()
    results, _ = play(plan)
    for entrant in SHAPES:
        assert len(plan.tuning(entrant)) == 25
        assert [piece.seed for piece in plan.finals(entrant, results) or []] == list(range(1000, 1020))


def test_final_seeds_are_the_same_for_all_and_never_used_before():
    plan = whole()
    results, _ = play(plan)
    finals = [{record.seed for record in records_of(plan.finals(one, results), results)} for one in plan.entrants]
    assert all(seeds == finals[0] for seeds in finals)
    before = {record.seed for record in results.records.values() if record.stage != "final"}
    assert not finals[0] & before


def test_names_say_stage_method_setting_and_seed():
    names = {piece.name for piece in whole().due(NOTHING)}
    assert "tune/cosine/0.01/2" in names
    assert "learn/rl-xu/25-runs/500" in names


def test_what_needs_nothing_comes_first_and_lodestar_last():
    """Round 1: tuning and controller training. Round 2: finals of the chosen, the fit. Round 3: Lodestar's finals."""
    _, sizes = play(whole())
    assert sizes == [4 * 25 + 1, 5 * 20 + 1, 20]


def test_the_long_pieces_start_first():
    assert whole().due(NOTHING)[0].name.startswith("learn/rl-xu/")


def test_lodestar_learns_from_the_tuning_runs_of_the_four_shapes():
    plan = whole()
    results, _ = play(plan)
    piece = plan.learning(OURS, results)
    assert piece is not None
    assert len(piece.sources) == 100
    assert {name.split("/")[1] for name in piece.sources} == {entrant.name for entrant in SHAPES}


def test_lodestar_alone_still_needs_the_shapes_runs_but_not_their_finals():
    plan = TablePlan((OURS,), SHAPES)
    results, sizes = play(plan)
    assert sizes == [100, 1, 20]
    assert {record.method for record in results.records.values() if record.stage == "final"} == {"lodestar"}


def test_quasi_random_runs_are_as_many_and_extra():
    plan = whole(source="sobol")
    results, sizes = play(plan)
    assert sizes[0] == 100 + 100 + 1
    piece = plan.learning(OURS, results)
    assert piece is not None
    assert all(name.startswith("sweep/sobol/") for name in piece.sources)


AVERAGED = dataclasses.replace(OURS, name="averaging", form="averaged")


def test_each_form_of_the_optimizer_has_a_sweep_of_its_own():
    plan = TablePlan((OURS, AVERAGED), SHAPES, source="sobol")
    results, sizes = play(plan)
    assert sizes == [200, 2, 40]
    ours, other = plan.learning(OURS, results), plan.learning(AVERAGED, results)
    assert ours is not None and other is not None and not {*ours.sources} & {*other.sources}
    assert all(name.startswith("sweep/averaged/") for name in other.sources)
    assert {piece.form for piece in plan.sources("averaged")} == {"averaged"}


def test_the_shapes_are_made_anew_for_another_form_than_the_recipes():
    plan = TablePlan((AVERAGED,), SHAPES)
    results, sizes = play(plan)
    assert sizes == [100, 1, 20]
    piece = plan.learning(AVERAGED, results)
    assert piece is not None and {name.split("/")[1] for name in piece.sources} == {
        f"averaged-{entrant.name}" for entrant in SHAPES
    }


@pytest.mark.parametrize(("budget", "each"), [(25, 5), (10, 2), (4, 1)])
def test_under_an_equal_budget_nobody_spends_more_than_another(budget, each):
    plan = whole(equal=budget)
    assert len(plan.tuning(COSINE)) == min(budget, 5) * each <= budget
    assert len(plan.sources()) == budget - 1  # and one for the fit
    assert all(piece.name.startswith("sweep/sobol/") for piece in plan.sources())  # not the tuning of others
    piece = plan.learning(LEARNER, NOTHING)
    assert piece is not None and piece.allowed_runs == budget


def test_where_nobody_learns_from_runs_none_are_made():
    plan = TablePlan(SHAPES, source="sobol")
    assert plan.sources() == [] and {piece.stage for piece in plan.due(play(plan, rounds=0)[0])} == {"tune"}


def test_a_learning_from_other_runs_has_another_name():
    """So results made with an older learning are never taken for those of a newer one."""
    small, large = whole(tune_seeds=2), whole()
    names = [plan.learning(OURS, play(plan)[0]) for plan in (small, large)]
    assert names[0] is not None and names[1] is not None
    assert names[0].name != names[1].name


def test_the_choice_is_by_mean_best_validation():
    plan = whole()
    choice = plan.choice(COSINE, play(plan)[0])
    assert choice is not None
    assert choice.value == 1e-2
    assert choice.validation == pytest.approx(0.8 + 0.001 * 2)


def test_a_diverged_run_counts_as_the_floor_and_is_counted():
    plan = whole()
    spoiled = lambda piece: None if piece.name == "tune/cosine/0.01/3" else good(piece)  # noqa: E731
    results, _ = play(plan, spoiled)
    choice = plan.choice(COSINE, results)
    assert choice is not None
    assert choice.diverged == 1
    assert choice.value != 1e-2  # one in five at 0.1 costs more than the neighbour's 0.05
    assert results.floor == FIRST


def test_a_failed_tuning_run_counts_as_the_floor_too():
    plan = whole()
    results, _ = play(plan, lambda p: ValueError("broken") if p.name == "tune/cosine/0.01/3" else good(p))
    choice = plan.choice(COSINE, results)
    assert choice is not None
    assert (choice.failed, choice.value != 1e-2) == (1, True)


def test_a_method_whose_tuning_all_failed_has_no_finals_and_the_rest_goes_on():
    plan = whole()
    results, _ = play(plan, lambda p: ValueError("no such layer") if p.entrant is COSINE else good(p))
    assert plan.finals(COSINE, results) is None
    assert plan.lost(COSINE, results) == "no such layer"
    assert plan.finals(OURS, results) is not None


def test_a_learning_that_failed_stops_only_its_method():
    plan = whole()
    results, _ = play(plan, lambda p: ValueError("no torch") if p.stage == "learn" else good(p))
    assert plan.lost(LEARNER, results) == "no torch"
    assert plan.left(results) == (0, 0)


def test_smaller_is_better_where_the_task_says_so():
    plan = TablePlan(SHAPES)
    choice = plan.choice(COSINE, play(plan, lambda p: 1 - good(p), direction=Direction.MIN)[0])
    assert choice is not None
    assert choice.value == 1e-2


@pytest.mark.parametrize(
    ("wanted", "picked"),
    [(1, (1e-2,)), (2, (1e-3, 1e-1)), (3, (1e-4, 1e-2, 1.0)), (4, (1e-4, 1e-3, 1e-1, 1.0)), (5, GRID), (9, GRID)],
)
def test_a_smaller_grid_is_spread_about_the_middle(wanted, picked):
    assert TablePlan(SHAPES, tune_values=wanted).values(COSINE) == picked


def test_one_value_needs_no_tuning():
    plan = TablePlan(SHAPES, tune_values=1, seeds=3)
    _, sizes = play(plan)
    assert sizes == [12]


def test_what_is_left_is_known_from_the_start():
    plan = whole()
    assert plan.left(NOTHING) == (4 * 25 + 6 * 20, 2)
    results, _ = play(plan, rounds=1)
    assert plan.left(results) == (6 * 20, 1)
    assert plan.left(play(plan)[0]) == (0, 0)


def test_more_seeds_later_only_add_runs():
    few, many = whole(seeds=10), whole(seeds=12)
    results, _ = play(few)
    assert len(many.due(results)) == 6 * 2


def test_a_learner_with_a_grid_is_refused():
    with pytest.raises(BenchError, match=r"'greedy' learns .* grid of 5 values"):
        Entrant("greedy", "greedy", "Greedy", "paper", "by training", GRID)


@pytest.mark.parametrize("changes", [{"seeds": 0}, {"tune_seeds": 600}, {"source": "grid"}])
def test_bad_plans_are_refused(changes):
    with pytest.raises(ValueError, match=r"must be|overlap"):
        whole(**changes)


def test_a_record_is_read_from_a_runs_facts():
    facts = Facts(extra={"best_metric": 0.9, "test_metric": 0.88, "seconds": 6, "method": "cosine"})
    found = Record.read("final/cosine/0.01/1003", Status.FINISHED, facts)
    assert (found.stage, found.method, found.setting, found.seed) == ("final", "cosine", "0.01", 1003)
    assert (found.validation, found.test, found.seconds) == (0.9, 0.88, 6.0)
    assert math.isnan(found.first)
    assert found.complete
    assert not dataclasses.replace(found, status=Status.DIVERGED).complete
