"""Steered runs: logs find their runs by name; decisions are told in words; charts hold it all."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.curves import toy_run
from tests.scheduler.live import loss_at, metric_at, train

from lodestar._errors import LodestarError
from lodestar.report.html import Bars, Chart, Details, Line, Notes, Scatter, Table, Text
from lodestar.report.sections.decisions import decision_blocks
from lodestar.report.sections.steered import join_runs, read_steered
from lodestar.report.sections.steered_runs import steered_blocks
from lodestar.report.sections.why import why
from lodestar.runs import Facts, Run, Series
from lodestar.scheduler import Decision, Outcome, Scheduler
from lodestar.scheduler.records.decision import Winner
from lodestar.scheduler.settings import PRESETS
from lodestar.testing import random_forecaster

STEPS = 400
RELEASE_ONE = Path(__file__).parents[2] / "release_one"


def steered_run(name: str, rates: list[float]) -> Run:
    """The run the job of `train` was, as a tracker would have kept it."""
    steps = np.arange(10, STEPS + 1, 10)
    return Run(
        name=name,
        loss=Series(steps, [loss_at(s, STEPS) for s in steps.tolist()]),
        metric=Series(steps, [metric_at(s, STEPS) for s in steps.tolist()]),
        lr=Series(steps, np.float32(np.array(rates)[steps - 1])),
        direction="max",  # pyright: ignore[reportArgumentType]
        metric_name="accuracy",
        facts=Facts(schedule="lodestar"),
    )


@pytest.fixture(scope="module")
def forecaster():
    return random_forecaster(seed=5, points=40)


@pytest.fixture(scope="module")
def jobs(forecaster, tmp_path_factory):
    """A folder of two logs, and the runs they belong to, which only their headers name."""
    folder = tmp_path_factory.mktemp("logs")
    runs = []
    for seed in (0, 1):
        one = Scheduler(
            forecaster,
            STEPS,
            log=folder / f"job-{seed}.jsonl",
            run_name=f"tracked {seed}",
            facts={"task": "toy", "seed": seed},
            tolerance=20.0,
            hysteresis=None,
            least_near=None,
            seed=seed,
        )
        runs.append(steered_run(f"tracked {seed}", train(one, 1, STEPS)))
    return folder, runs


def charts(blocks) -> dict[str, Chart]:
    return {block.title: block for block in blocks if isinstance(block, Chart)}


def texts(blocks) -> list[tuple[str, str]]:
    return [(block.text, block.tone) for block in blocks if isinstance(block, Text)]


def test_a_log_finds_the_run_its_header_names(jobs):
    folder, runs = jobs
    found = join_runs(read_steered([folder]), [toy_run("job-0", total=STEPS), *runs[::-1]])
    assert [one.run for one in found] == runs
    assert "task toy, seed 0" in [text for text, _ in texts(decision_blocks(found[0], None))]


def test_a_log_without_a_run_in_its_header_is_of_the_run_with_its_files_name(jobs, forecaster):
    (log,) = sorted((RELEASE_ONE / "files").glob("*.jsonl"))
    (one,) = read_steered([log])
    assert not one.states_run
    assert one.run_name == log.stem
    named = toy_run(log.stem)
    (found,) = join_runs([one], [toy_run("other"), named])
    assert found.run is named


def test_a_log_whose_run_is_not_there_is_drawn_alone_and_that_is_said(jobs):
    folder, (run, _) = jobs
    (one, _) = join_runs(read_steered([folder]), [run.replace(name="other")])
    assert one.run is None
    (notes,) = [block for block in decision_blocks(one, None) if isinstance(block, Notes)]
    assert "No run here is called tracked 0: only what the log holds is drawn." in [text for _, text, _ in notes.lines]
    (sentence,) = [text for text, tone in texts(steered_blocks([one], None)) if not tone]
    assert "not among the runs" in sentence


def test_two_logs_of_one_run_share_it(jobs):
    """A job that went on with a new log."""
    folder, (run, _) = jobs
    (one, _) = read_steered([folder])
    found = join_runs([one, dataclasses.replace(one, name="copy")], [run])
    assert [twin.run for twin in found] == [run, run]


def test_in_shadow_mode_the_kind_says_so(forecaster, tmp_path):
    job = Scheduler(forecaster, STEPS, mode="shadow", base=lambda step: 1e-3, log=tmp_path / "mine.jsonl")
    run = steered_run("mine", train(job, 1, STEPS))
    (one,) = join_runs(read_steered([tmp_path / "mine.jsonl"]), [run])
    assert one.run is run
    assert "shadow" in one.kind


@pytest.mark.parametrize(
    ("name", "text", "message"), [("a.txt", "", "no decision log"), ("a.jsonl", "{}", "not a Lodestar log")]
)
def test_a_folder_without_logs_is_an_error_with_a_cure(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(LodestarError, match=f"{message}.*Fix"):
        read_steered([tmp_path])


def test_everything_a_log_holds_is_drawn(jobs):
    one = read_steered([jobs[0]])[0]
    blocks = decision_blocks(one, None)
    found = charts(blocks)
    rate, forecast, accepted = found.values()
    line = rate.series[0]
    assert isinstance(line, Line)
    assert len(np.asarray(line.x)) == len(one.rates()[0]) > 100
    replanned = [d for d in one.log.decisions if d.outcome is Outcome.REPLANNED]
    marks = next(s for s in rate.series if isinstance(s, Scatter))
    assert [label.split(":")[0] for label in marks.labels] == [f"step {d.step}" for d in replanned]
    winners = next(s for s in forecast.series if isinstance(s, Scatter))
    assert len(winners.labels) == sum(len(d.winners) for d in one.log.decisions)
    (bars,) = accepted.series
    assert isinstance(bars, Bars)
    assert list(np.asarray(bars.values)) == [d.accepted for d in one.log.decisions if d.samples]
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert len(table.rows) == len(one.log.decisions)


def test_with_run_and_forecaster_there_are_fans(jobs, forecaster):
    (one, _) = join_runs(read_steered([jobs[0]]), jobs[1])
    found = charts(decision_blocks(one, forecaster))
    fan = found["forecast fans: accuracy"]
    groups = {series.group for series in fan.series if series.group}
    assert groups == {"foreseen at 10 %", "foreseen at 30 %", "foreseen at 60 %"}
    assert "forecast fans: training loss" in found
    assert [rule.label for rule in found["forecast of the final accuracy"].rules] == ["how it ended"]


def test_without_its_run_there_is_no_fan(jobs, forecaster):
    assert not any("fans" in title for title in charts(decision_blocks(read_steered([jobs[0]])[0], forecaster)))


def test_several_runs_have_an_overview_and_a_fold_each(jobs):
    blocks = steered_blocks(join_runs(read_steered([jobs[0]]), jobs[1]), None)
    assert len([block for block in blocks if isinstance(block, Details)]) == 2
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [row[0] for row in table.rows] == ["job-0", "job-1"]
    assert [row[7] for row in table.rows] == ["0.6", "0.6"]


def test_why_tells_what_was_weighed():
    winners = (
        Winner("references", 0, 3, 0.5, 0.9),
        Winner("references", 0, 4, 0.5, 0.92),
        Winner("local", 0, 1, 0.5, 0.94),
    )
    kept = Decision(
        3, 60, Outcome.KEPT, loss=0.5, tolerance=0.02, samples=30, accepted=12, winners=winners, plan_forecast=0.915
    )
    assert why(kept) == (
        "12 of 30 futures came near this run's loss 0.5 (within 0.02). The best 3 candidates (2 from past runs, 1 near "
        "this run) should end at 0.92, the running plan at 0.915. Kept the plan: no candidate "
        "beat its forecast by enough."
    )


def test_why_tells_candidates_apart_that_differ_late():
    winner = Winner("local", 0, 1, 0.5, 0.884213)
    text = why(Decision(3, 60, Outcome.REPLANNED, samples=30, accepted=1, winners=(winner,), plan_forecast=0.884209))
    assert "should end at 0.884213, the running plan at 0.884209" in text


def test_why_tells_that_nothing_matched():
    none = Decision(3, 60, Outcome.NONE_ACCEPTED, loss=0.5, samples=30)
    assert why(none).startswith("No future came near this run's loss 0.5.")


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_its_sentence(outcome):
    assert str(outcome)[1:] in why(Decision(0, 0, outcome, note="and so on"))


def test_a_preset_is_known_again_also_from_an_older_log(jobs):
    one = read_steered([jobs[0]])[0]
    assert one.kind == "own settings"
    older = {name: value for name, value in PRESETS["paper"].to_dict().items() if name != "cut"}
    log = dataclasses.replace(one.log, header={**one.log.header, "settings": older})
    assert dataclasses.replace(one, log=log).kind == "preset paper"
