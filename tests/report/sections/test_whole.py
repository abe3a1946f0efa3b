"""The whole report: what is given is a section, what is not is none, what does not fit is said."""

import pytest
from tests.curves import diverged_run, toy_run, toy_runs
from tests.scheduler.live import train

from lodestar._errors import ForecasterError, RunError
from lodestar.report.html import Details, Notes, Scatter, Table, page
from lodestar.report.sections import build_report, read_steered
from lodestar.runs import Direction, Series
from lodestar.scheduler import Scheduler
from lodestar.testing import random_forecaster

ALWAYS = ["The sweep at a glance", "Comparison", "Doctor's findings"]


@pytest.fixture(scope="module")
def forecaster():
    return random_forecaster(seed=5, points=40)


@pytest.fixture(scope="module")
def steered(forecaster, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "job.jsonl"
    train(Scheduler(forecaster, 600, log=path), 1, 600)
    return read_steered([path])


def titles(report) -> list[str]:
    return [section.title for section in report.sections]


def test_runs_alone_make_three_sections():
    made = build_report(toy_runs(seeds=1))
    assert titles(made) == ALWAYS
    assert made.title == "toy: 8 runs"
    assert made.notes == ()


def test_everything_makes_five(forecaster, steered):
    made = build_report(toy_runs(seeds=1), forecaster=forecaster, steered=steered)
    assert titles(made) == ["The sweep at a glance", "Comparison", "Steered runs", "Forecaster", "Doctor's findings"]
    assert "<canvas" not in page(made.title, made.sections)


def test_the_forecasters_figures_are_the_evaluations(forecaster):
    made = build_report(toy_runs(seeds=1), forecaster=forecaster)
    (part,) = [section for section in made.sections if section.title == "Forecaster"]
    scatter = next(s for block in part.blocks for s in getattr(block, "series", ()) if isinstance(s, Scatter))
    assert sorted(scatter.labels) == sorted(run.name for run in toy_runs(seeds=1))
    tables = [block for block in part.blocks if isinstance(block, Table)]
    assert [row[0] for row in tables[0].rows][:2] == ["accuracy, 5 % seen", "accuracy, 50 % seen"]
    assert any(isinstance(block, Details) and block.open for block in part.blocks)


def test_the_doctors_findings_are_told_with_cures():
    made = build_report([*toy_runs(seeds=1), diverged_run("boom")])
    (part,) = [section for section in made.sections if section.title == "Doctor's findings"]
    (notes,) = [block for block in part.blocks if isinstance(block, Notes)]
    assert any("boom" in sentence and cure.startswith("Cure: ") for _, sentence, cure in notes.lines)


def test_no_runs_is_an_error_with_a_cure():
    with pytest.raises(RunError, match=r"no runs.*Fix"):
        build_report([])


def test_a_forecaster_of_another_metric_is_an_error_with_a_cure(forecaster):
    with pytest.raises(ForecasterError, match=r"'accuracy' is to be maximised.*they have error.*--model"):
        build_report([toy_run("a", direction=Direction.MIN)], forecaster=forecaster)


def test_a_metric_of_another_name_is_said(forecaster):
    runs = [run.replace(metric_name="top1") for run in toy_runs(seeds=1)]
    made = build_report(runs, forecaster=forecaster)
    assert any("fitted to 'accuracy' and is tested on 'top1'" in note for note in made.notes)
    assert titles(made)[0] == "Please note"


def test_a_forecaster_that_cannot_be_tested_is_said(forecaster):
    made = build_report([diverged_run("a")], forecaster=forecaster)
    assert any(note.startswith("The forecaster could not be tested: ") for note in made.notes)
    assert "Forecaster" not in titles(made)


def test_a_log_of_another_job_is_said(steered):
    other = [run.replace(metric_name="f1") for run in toy_runs(seeds=1)]
    assert any(
        "is of the metric 'accuracy', these runs have f1" in note for note in build_report(other, steered=steered).notes
    )
    longer = [toy_run("a", total=900), toy_run("b", "step", total=900)]
    assert any("a job of 600 steps" in note for note in build_report(longer, steered=steered).notes)


def test_progress_is_told():
    told = []
    build_report(toy_runs(seeds=1), tick=lambda what, done, of: told.append((what, done, of)))
    assert told[0] == ("reading runs", 1, None)
    assert told[-1] == ("examining runs", 8, 8)


def test_a_run_it_steered_itself_is_no_test_of_the_forecaster(forecaster, tmp_path):
    job = Scheduler(forecaster, 600, log=tmp_path / "mine.jsonl")
    rates = train(job, 1, 600)
    mine = toy_run("mine", "step", seed=9)
    runs = [*toy_runs(seeds=1), mine.replace(lr=Series(mine.lr.steps, [rates[s - 1] for s in mine.lr.steps.tolist()]))]
    made = build_report(runs, forecaster=forecaster, steered=read_steered([tmp_path / "mine.jsonl"]))
    (part,) = [section for section in made.sections if section.title == "Forecaster"]
    scatter = next(s for block in part.blocks for s in getattr(block, "series", ()) if isinstance(s, Scatter))
    assert "mine" not in scatter.labels
    assert len(scatter.labels) == 8
