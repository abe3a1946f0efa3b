import dataclasses

import numpy as np
import pytest
from tests.responding import drawn, responding_forecaster, run_of, runs

from lodestar.evaluate import OURS, evaluate
from lodestar.evaluate.evaluation import KNOWN

TESTED = 12


@pytest.fixture(scope="module")
def forecaster():
    """It knows schedules, and learned from `runs(24)`."""
    made = responding_forecaster()
    return dataclasses.replace(made, facts={**made.facts, "names": [run.name for run in runs(24)]})


@pytest.fixture(scope="module")
def found(forecaster):
    """Tested on runs it never saw."""
    return evaluate(forecaster, runs(TESTED, start=500), against=runs(24), tolerances=())


def test_known_schedules_are_forecast_before_the_first_step_unknown_ones_are_not(found):
    known = [row.seen for row in found.final_scores if row.schedule == "known"]
    assert known == [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9]
    assert {row.forecaster for row in found.final_scores if row.seen == 0.0} == {KNOWN}
    assert set(found.scores(0.5)) == {KNOWN, OURS, "last value", "nearest run", "power law"}


def test_every_score_says_how_many_runs_it_rests_on_and_what_its_interval_held(found):
    assert {row.runs for row in found.final_scores} == {TESTED}
    half = found.scores(0.5)
    assert 0.5 <= half[KNOWN].inside <= 1.0 and half[KNOWN].level == 0.8
    assert np.isfinite(half[OURS].inside) and np.isnan(half["last value"].inside)


def test_a_known_schedule_is_ranked_and_forecast_better_than_an_unknown_one(found):
    assert found.scores(0.0)[KNOWN].spearman > 0.8
    assert found.scores(0.25)[KNOWN].rmse < found.scores(0.25)["last value"].rmse


def test_the_score_is_the_error_of_the_forecast_by_hand(found, forecaster):
    from lodestar.forecaster.known_schedules import judge

    tested = runs(TESTED, start=500)
    made = [float(judge(forecaster, drawn(500 + i).rates[None]).centre[0]) for i in range(TESTED)]
    off = np.array(made) - np.array([run.metric.values[-1] for run in tested])
    assert found.scores(0.0)[KNOWN].rmse == pytest.approx(float(np.sqrt(np.mean(off**2))), rel=0.15)


def test_a_run_that_was_cut_short_has_no_known_end(forecaster):
    short = run_of(drawn(600), 600)
    short = short.replace(total_steps=2 * short.total_steps)
    made = evaluate(forecaster, [*runs(4, start=500), short], tolerances=())
    assert len(made.runs) == 5 and {row.runs for row in made.final_scores} == {4}


def test_a_forecaster_that_does_not_know_schedules_says_so_and_is_still_tested(forecaster):
    made = evaluate(dataclasses.replace(forecaster, response=None), runs(4, start=500), tolerances=())
    assert KNOWN not in made.scored and made.scores(0.5)[OURS].runs == 4
    assert any("does not know schedules" in note for note in made.notes)


def test_runs_that_it_learned_from_are_not_held_against_it(forecaster, monkeypatch):
    """The response learned from held-out runs too: it is fitted again without them."""
    from lodestar.evaluate import both_kinds

    fitted = []
    monkeypatch.setattr(
        both_kinds, "fit_response", lambda data, seed: fitted.append(data.names) or (forecaster.response, {})
    )
    held_out = [[run.name for run in runs(3)], [run.name for run in runs(3, start=3)]]
    held = dataclasses.replace(
        forecaster,
        facts={**forecaster.facts, "held_out": held_out},
        network=responding_forecaster().network,
    )
    made = evaluate(held, runs(24), tolerances=())
    assert set(made.runs) == {run.name for run in runs(6)}
    assert fitted == [tuple(run.name for run in runs(18, start=6))]
    assert any("fitted again to the 18 past runs" in note for note in made.notes)
    assert "nearest run" in made.scored  # the runs of the fit are past runs, without being named again


def test_where_it_learned_from_every_run_the_fits_own_test_stands_instead(forecaster):
    made = evaluate(forecaster, runs(6), which="all", tolerances=())
    assert KNOWN not in made.scored
    assert any("The fit's own test: Schedule known" in note for note in made.notes)


def test_the_page_and_its_figures_tell_both_kinds_apart(found):
    from lodestar.report.page import figures, page

    made = page(found)
    assert "Schedule known, and unknown" in made and "told the schedule to its end" in made
    assert {line.name for line in figures(found)["final-rmse"][0].series} == set(found.scored)
    assert {"final-rmse", "final-spearman"} <= set(figures(found))
