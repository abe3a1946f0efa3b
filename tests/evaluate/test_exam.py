"""Which runs are tested, and who may speak on them."""

import numpy as np
import pytest
from tests.curves import diverged_run, toy_run

from lodestar._errors import PrepareError
from lodestar.evaluate.contest import Contest
from lodestar.evaluate.exam import make_exam
from lodestar.runs import Facts, RunSet, Series

HELD = (("cosine-0.001-0", "step-0.003-1"), ("onecycle-0.003-0", "constant-0.001-1", "step-0.001-0"))


def test_only_held_out_runs_are_tested(fitted, runs):
    exam = make_exam(fitted, runs)
    assert set(exam.data.names) == {*HELD[0], *HELD[1]}
    assert "5 of 16 runs: 5 held out by the fit, 0 it never saw" in exam.notes[0]


def test_each_run_is_forecast_by_the_member_that_never_saw_it(fitted, runs):
    exam = make_exam(fitted, runs)
    made = exam.forecast(0.2)
    for place, name in enumerate(exam.data.names):
        member = 0 if name in HELD[0] else 1
        run = next(run for run in runs if run.name == name)
        own = fitted.network.decode(fitted.encode(fitted.context_of(run, 0.2)), fitted.times)[member, 0]
        np.testing.assert_allclose(made.centre[place], own, atol=1e-9)


def test_new_runs_are_forecast_by_all_members(new, runs):
    exam = make_exam(new, runs)
    assert len(exam.data) == 16
    forecast = new.forecast(new.context_of(runs[3], 0.2))
    np.testing.assert_allclose(exam.natural(exam.forecast(0.2).centre)[3, :, 0], forecast.loss.centre)
    assert "16 of 16 runs: 0 held out by the fit, 16 it never saw" in exam.notes[0]


def test_runs_it_learned_from_are_left_out_and_if_there_are_no_others_it_is_said(fitted, runs):
    learned = runs.filter(lambda run: run.name not in {*HELD[0], *HELD[1]})
    with_new = RunSet([*learned, toy_run("new", seed=9)])
    assert make_exam(fitted, with_new).data.names == ("new",)
    assert "The fit learned from 11 of these 11 runs: the figures flatter it" in make_exam(fitted, learned).notes[1]


def test_all_runs_are_tested_when_asked_and_said_so(fitted, runs):
    exam = make_exam(fitted, runs, "all")
    assert len(exam.data) == 16
    assert "learned from 11 of these 16 runs" in exam.notes[1]


def test_rivals_see_no_more_past_than_ours_did(fitted, runs):
    exam = make_exam(fitted, runs)
    for name, hidden in zip(exam.data.names, exam.hidden, strict=True):
        assert hidden == set(HELD[0] if name in HELD[0] else HELD[1])
    assert Contest(exam, runs).past_runs == 14


def test_new_runs_under_test_are_no_rivals_past(new, runs):
    assert make_exam(new, runs).hidden[0] == {run.name for run in runs}
    assert make_exam(new, runs, "all").hidden[0] == {runs[0].name}


def test_a_large_set_is_thinned_evenly_and_said_so(new, runs):
    exam = make_exam(new, runs, most=4)
    assert exam.data.names == tuple(runs[i].name for i in (0, 5, 10, 15))
    assert "Tested on 4 of 16 runs" in exam.notes[0] and "12 to keep it short" in exam.notes[0]


def test_one_sentence_says_what_became_of_every_run(fitted, runs):
    """Runs given, held out, new, learned from, excluded and thinned: the counts add up to what was given."""
    given = [*runs, toy_run("new", seed=9), diverged_run()]
    notes = make_exam(fitted, given).notes
    assert notes[0] == (
        "Tested on 6 of 18 runs: 5 held out by the fit, 1 it never saw. "
        "Not tested: 11 the fit learned from, 1 excluded, each with its reason."
    )
    assert not any("ested" in note or "excluded" in note for note in notes[1:])


def test_no_run_is_an_error_with_a_cure(new):
    with pytest.raises(PrepareError, match="no run to evaluate on"):
        make_exam(new, [])


def test_a_diverged_run_is_excluded_with_the_reason(new, runs):
    exam = make_exam(new, [*runs, diverged_run()])
    assert exam.data.excluded[0][0] == "boom"


def test_raw_values_are_as_logged(new, runs):
    exam = make_exam(new, runs)
    np.testing.assert_allclose(exam.raw[2, :, 0], runs[2].loss.values)
    assert not np.allclose(exam.natural(exam.data.values)[2, :, 0], runs[2].loss.values)


def test_a_run_with_nothing_logged_yet_has_no_forecast(new):
    run = toy_run("late")
    late = run.replace(
        **{
            name: Series(getattr(run, name).steps[20:], getattr(run, name).values[20:])
            for name in ("loss", "metric", "lr")
        }
    )
    exam = make_exam(new, [run.replace(name="early"), late])
    made = exam.forecast(0.1).centre
    assert np.isfinite(made[0]).all()
    assert np.isnan(made[1]).all()


def test_an_epoch_is_what_the_runs_say(new):
    assert make_exam(new, [toy_run("a")]).epochs == 60
    assert make_exam(new, [toy_run("a").replace(facts=Facts(extra={"epochs": 20}))]).epochs == 20


def test_a_wrong_word_is_refused(new, runs):
    with pytest.raises(ValueError, match="which must be 'unseen' or 'all', got 'some'"):
        make_exam(new, runs, "some")  # pyright: ignore[reportArgumentType]
