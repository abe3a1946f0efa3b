"""Accuracy, ablation, stiffness, ranking, selection, coverage, examples: each against a case worked out by hand."""

import dataclasses

import numpy as np
import pytest
from tests.curves import toy_run, toy_runs

from lodestar.evaluate.accuracy import ablation, accuracy, fractions_of
from lodestar.evaluate.contest import Contest
from lodestar.evaluate.coverage import coverage
from lodestar.evaluate.evaluation import OURS, MeanStd
from lodestar.evaluate.exam import make_exam
from lodestar.evaluate.examples import examples
from lodestar.evaluate.ranking import about_ranks, finals, ranking, selection
from lodestar.evaluate.stiffness import stiffness
from lodestar.fitting.quality import spearman
from lodestar.forecaster import Intervals
from lodestar.runs import Direction, RunSet, Series
from lodestar.testing import random_forecaster


def row_of(rows, **wanted):
    (found,) = [row for row in rows if all(getattr(row, key) == value for key, value in wanted.items())]
    return found


@pytest.mark.parametrize("scope", ["whole run", "still to come"])
def test_relative_mse_by_hand(contest, scope):
    made = contest.forecast("last value", 0.5)
    truth = contest.exam.raw
    part = slice(0 if scope == "whole run" else 30, None)
    expected = [
        ((m - t)[part] ** 2).sum() / (t[part] ** 2).sum() for m, t in zip(made[..., 0], truth[..., 0], strict=True)
    ]
    row = row_of(accuracy(contest, [0.5]), forecaster="last value", scope=scope, truth="raw")
    assert row.error.loss.mean == pytest.approx(np.mean(expected))
    assert row.error.loss.std == pytest.approx(np.std(expected))
    assert row.error.loss.runs == 8


def test_a_spread_leaves_out_what_is_missing():
    assert MeanStd.of(np.array([1.0, np.nan, 3.0])) == MeanStd(2.0, 1.0, 2)
    assert MeanStd.of(np.array([np.nan])).runs == 0


def test_nothing_is_still_to_come_at_the_end(contest):
    row = row_of(accuracy(contest, [1.0]), forecaster=OURS, scope="still to come", truth="smoothed")
    assert row.error.loss.runs == 0


@pytest.mark.parametrize("points", [60, 100, 600])
def test_fractions_are_whole_points_from_two_percent_to_all(points):
    found = np.array(fractions_of(points))
    assert found[0] == pytest.approx(0.02, abs=0.5 / points)
    assert found[-1] == 1
    np.testing.assert_allclose(found * points, np.round(found * points))
    assert (np.diff(found) > 0).all()


def test_finer_tolerances_agree_ever_better(contest):
    ticks = []
    rows = ablation(contest, (1e-4, 1e-7, 1e-11), (0.05, 1.0), lambda: ticks.append(1))
    assert [row.forecaster for row in rows] == [OURS] * 4 + list(contest.names[1:])
    assert len(ticks) == 14
    exact = rows[3].error[0].loss.mean
    off = [abs(row.error[0].loss.mean - exact) for row in rows[1:3]]
    assert off[1] < off[0]
    assert off[1] < 1e-3 * exact


def test_ours_is_first_by_its_own_solver(contest):
    first = ablation(contest, (), (0.5,), lambda: None)[0]
    own = row_of(accuracy(contest, [0.5]), forecaster=OURS, scope="whole run", truth="smoothed")
    assert first.solver == "rk4, 8 steps"
    assert first.error[0] == own.error


def test_kept_steps_fill_the_run_and_rejected_ones_cost(contest):
    found = stiffness(contest.exam, 0.05)
    for one in found.trajectories:
        assert sum(one.size) == pytest.approx(1.0)
        assert (np.diff(one.evaluations) >= 6).all()
    kept = sum(len(one.size) for one in found.trajectories)
    attempted = sum((one.evaluations[-1] - 1) // 6 for one in found.trajectories)
    assert found.rejected == pytest.approx(1 - kept / attempted)
    assert found.evaluations.mean == np.mean([one.evaluations[-1] for one in found.trajectories])
    assert found.own_evaluations == 33


@pytest.mark.parametrize("direction", list(Direction))
def test_an_oracle_ranks_and_picks_perfectly(direction):
    """A nearest run whose past holds a copy of every run under test knows how each will end."""
    tested = toy_runs(direction=direction)
    copies = RunSet(run.replace(name=f"copy of {run.name}") for run in tested)
    contest = Contest(make_exam(random_forecaster(seed=1, points=60, direction=direction), tested), copies)
    found = row_of(ranking(contest, [0.5]), forecaster="nearest run")
    assert found.spearman == pytest.approx(1.0)
    assert found.rmse == pytest.approx(0.0, abs=1e-9)
    best = row_of(selection(contest, 0.5), forecaster="nearest run")
    true = {run.name: run.final_metric for run in tested}
    pick = max if direction is Direction.MAX else min
    assert best.best_final == pick(true.values())
    assert best.final == true[best.picked]
    order = sorted(true.values(), reverse=direction is Direction.MAX)
    assert best.rank == 1 + order.index(best.final) <= 3
    assert best.runs == 16
    assert best.recipes == 8


def test_an_interval_without_end_holds_everything_and_one_without_width_nothing(contest):
    shape = contest.exam.forecaster.intervals.low.shape
    for width, share in ((1e3, 1.0), (0.0, 0.0)):
        intervals = Intervals(np.full(shape, -width), np.full(shape, width), np.zeros(shape[1:]))
        model = dataclasses.replace(contest.exam.forecaster, intervals=intervals)
        exam = dataclasses.replace(contest.exam, forecaster=model)
        for row in coverage(Contest(exam), [0.05, 0.5]):
            assert {row.loss, row.metric, row.lr, row.final_metric} == {share}


def test_coverage_counts_only_what_is_to_come(contest):
    assert np.isnan(row_of(coverage(contest, [1.0]), level=0.8).loss)


def test_finals_are_the_last_point_of_the_forecast(contest):
    (found,) = finals(contest, [0.2])
    made = contest.exam.natural(contest.seen(0.2).centre)[:, -1, 1]
    np.testing.assert_allclose(found.forecast, made)
    assert (np.array(found.lower) <= made).all()
    assert (made <= np.array(found.upper)).all()


def test_a_run_cut_short_is_judged_where_it_ended(new):
    run = toy_run("cut").replace(total_steps=1200)
    exam = make_exam(new, [run])
    assert exam.last_metric()[0] == 29
    assert finals(Contest(exam), [0.1])[0].true[0] == pytest.approx(exam.data.final_metric()[0])


def test_examples_are_the_median_the_best_and_the_worst(contest):
    found = examples(contest, [0.05, 0.5])
    assert [one.why for one in found] == ["median", "best", "worst"]
    score = {one.why: np.mean(np.log([one.error.loss.mean, one.error.metric.mean, one.error.lr.mean])) for one in found}
    assert score["best"] < score["median"] < score["worst"]
    assert [drawn.seen for drawn in found[0].forecasts] == [0.05, 0.5]


def test_one_run_is_drawn_once(new):
    found = examples(Contest(make_exam(new, [toy_run("only")])), [0.05])
    assert [one.run for one in found] == ["only"]


def test_runs_of_several_tasks_are_ranked_within_each(new, runs):
    mixed = [run.replace(facts=dataclasses.replace(run.facts, task="ab"[place % 2])) for place, run in enumerate(runs)]
    exam = make_exam(new, mixed)
    (row, *_) = ranking(Contest(exam), (0.5,))
    made, true = exam.finals(exam.natural(exam.forecast(0.5).centre)), exam.data.final_metric()
    alone = [spearman(made[place::2], true[place::2]) for place in (0, 1)]
    assert (row.spearman, row.runs) == (pytest.approx(np.mean(alone)), 16)
    assert row.spearman != pytest.approx(spearman(made, true))
    assert about_ranks(exam) == ["The runs are of 2 tasks or sizes: rank correlations are those within each, pooled."]


def test_every_rank_and_coverage_says_how_many_runs_it_rests_on(new, runs):
    late = toy_run("late", seed=7)
    late = late.replace(
        loss=Series(late.loss.steps[20:], late.loss.values[20:]),
        metric=Series(late.metric.steps[20:], late.metric.values[20:]),
        lr=Series(late.lr.steps[20:], late.lr.values[20:]),
    )
    tested = Contest(make_exam(new, [*runs.filter(lambda run: run.facts.seed == 1), late]))
    assert [row.runs for row in ranking(tested, (0.05, 0.5)) if row.forecaster == OURS] == [8, 9]
    assert {(row.seen, row.runs, row.finals) for row in coverage(tested, (0.05, 0.5))} == {(0.05, 8, 8), (0.5, 9, 9)}
