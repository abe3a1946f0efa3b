"""The hand on the wheel: what a job does with a command, and that it resumes exactly."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.responding import responding_forecaster
from tests.scheduler.live import train

from lodestar.adapters.loop import SteeredLoop
from lodestar.scheduler import Decision, Outcome, Scheduler, control, read_log
from lodestar.scheduler.records.command import control_path
from lodestar.testing import random_forecaster
from lodestar.watch.commands import send

TOTAL = 200


def a_job(path: Path, **options) -> Scheduler:
    return Scheduler(
        random_forecaster(seed=2, points=100), TOTAL, log=path, **{"control": True, "gate": None, **options}
    )


@pytest.fixture
def log(tmp_path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture(autouse=True)
def hurried(monkeypatch) -> Iterator[None]:
    """The job looks at every step."""
    monkeypatch.setattr(control, "EVERY", 0.0)
    yield


def by_hand(job: Scheduler) -> list[Decision]:
    return [decision for decision in job.decisions if decision.command is not None]


def test_nothing_is_looked_at_without_control(log):
    job = a_job(log, control=False)
    train(job, 1, 20)
    control_path(log).write_text("{}")
    train(job, 21, 60)
    assert by_hand(job) == []
    assert job.warnings == []
    assert read_log(log).header["control"] is False


def test_control_needs_a_log():
    with pytest.raises(ValueError, match="control=True needs a log"):
        Scheduler(random_forecaster(seed=2), TOTAL, control=True)


def test_a_command_is_a_decision_with_who_and_when(log):
    job = a_job(log)
    train(job, 1, 20)
    sent = send(log, "pause", by="Ada")
    train(job, 21, 40)
    (decision,) = by_hand(job)
    assert (decision.outcome, decision.step, decision.command) == (Outcome.PAUSED, 20, sent)
    assert "asked for by Ada" in decision.note
    assert sent.at.endswith("Z")
    assert [d for d in read_log(log).decisions if d.command] == [decision]


def test_while_paused_the_plan_stays_and_after_resume_decisions_are_made(log):
    job = a_job(log)
    train(job, 1, 20)
    send(log, "pause")
    job.lr_at(21)
    plan, made = job.plan(), len(job.decisions)
    train(job, 21, 80)
    assert len(job.decisions) == made
    assert [job.followed().lr_at(step) for step in range(22, 81)] == [plan.lr_at(step) for step in range(22, 81)]
    send(log, "resume")
    train(job, 81, 120)
    assert any(d.step > 81 and d.command is None for d in job.decisions)


def test_scale_multiplies_what_is_to_come_within_the_caps_and_pauses(log):
    job, other = a_job(log), a_job(log.with_name("other.jsonl"))
    train(job, 1, 20)
    train(other, 1, 20)
    send(log, "scale", 0.5)
    assert job.lr_at(21) == pytest.approx(0.5 * other.lr_at(21), rel=1e-9)
    assert job.plan().lr_at(150) == pytest.approx(0.5 * other.plan().lr_at(150), rel=1e-9)
    send(log, "scale", 1e5)
    assert job.lr_at(22) == job.caps.high  # pyright: ignore[reportOptionalMemberAccess]
    assert "held at the cap" in job.decisions[-1].note


def test_a_schedule_is_taken_from_the_next_step_on(log):
    job = a_job(log)
    before = train(job, 1, 20)
    send(log, "take", [[21, 1e-3], [120, 2e-3], [200, 0.0]])
    rates = train(job, 21, TOTAL)
    assert [job.followed().lr_at(step) for step in range(1, 21)] == before
    assert rates[0] == pytest.approx(1e-3, rel=0.02)
    assert rates[99] == pytest.approx(2e-3, rel=0.02)
    assert rates[-1] == pytest.approx(0.0, abs=1e-9)


def test_a_taken_schedule_is_forecast_where_the_forecaster_knows_schedules(log):
    job = Scheduler(responding_forecaster(), TOTAL, log=log, control=True, gate=None, rescale=None)
    train(job, 1, 40)
    send(log, "scale", 0.9)
    job.lr_at(41)
    assert job.decisions[-1].predicted is not None
    assert job.decisions[-1].interval is not None


def test_the_run_is_extended_and_shortened(log):
    job = a_job(log)
    train(job, 1, 20)
    send(log, "extend", 300)
    job.lr_at(21)
    assert (job.total_steps, job.ends_after) == (300, 300)
    send(log, "extend", 100)
    job.lr_at(22)
    assert (job.total_steps, job.ends_after) == (100, 100)
    assert [d.command.do for d in by_hand(job) if d.command] == ["extend", "extend"]


@pytest.mark.parametrize(
    ("options", "job_says", "do", "value", "why"),
    [
        ({}, {}, "extend", 10, "stands at step 20"),
        ({}, {"updates": TOTAL}, "extend", 300, "the trainer ends the run after 200 updates"),
        ({"mode": "shadow", "base": lambda step: 1e-3}, {}, "scale", 0.5, "shadow mode"),
    ],
)
def test_what_cannot_be_done_is_refused_on_record(log, options, job_says, do, value, why):
    job = a_job(log, job=job_says, **options)
    rates = train(job, 1, 20)
    send(log, do, value)
    train(job, 21, 25)
    (decision,) = by_hand(job)
    assert decision.outcome is Outcome.REFUSED
    assert why in decision.note
    assert job.total_steps == TOTAL
    assert rates


def test_stop_ends_a_plain_loop_and_the_log_says_so(log):
    loop = SteeredLoop(random_forecaster(seed=2, points=100), TOTAL, log=log, control=True, gate=None)
    for step, _ in loop:
        loop.observe(loss=1.5)
        if step == 30:
            send(log, "stop")
    assert loop.step == 31  # whose rate was told when the command was taken
    assert loop.stopped
    assert read_log(log).over


def test_another_jobs_command_is_left_alone(log):
    train(a_job(log), 1, 20)
    send(log, "scale", 0.5)
    job = a_job(log)
    train(job, 1, 20)
    assert by_hand(job) == []


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": "lodestar-control", "version": 1}', "\x00" * 50, "a pipe"]
)
def test_a_damaged_file_is_a_warning_and_changes_nothing(log, content):
    job, other = a_job(log), a_job(log.with_name("other.jsonl"))
    assert train(job, 1, 20) == train(other, 1, 20)
    if content == "a pipe":
        os.mkfifo(control_path(log))  # reading it would wait for ever
    else:
        control_path(log).write_text(content)
    assert train(job, 21, 60) == train(other, 21, 60)
    assert len([w for w in job.warnings if "is damaged and was left alone" in w]) == 1
    control_path(log).unlink()
    send(log, "pause")
    train(job, 61, 65)
    assert len(by_hand(job)) == 1


def test_a_newer_command_file_is_a_warning(log):
    job = a_job(log)
    train(job, 1, 20)
    control_path(log).write_text(json.dumps({"format": "lodestar-control", "version": 9}))
    train(job, 21, 40)
    assert "version 9" in job.warnings[0]


def commanded(job: Scheduler, start: int, stop: int, log: Path) -> list[float]:
    """Steps of a job to which somebody sends two commands on the way."""
    rates = []
    for step in range(start, stop + 1):
        if step == 50:
            send(log, "scale", 0.7)
        if step == 90:
            send(log, "extend", 220)
        rates += train(job, step, step)
    return rates


@pytest.mark.parametrize("saved_at", [30, 60, 100])
def test_a_resumed_job_obeys_again_what_is_on_record_at_the_same_steps(log, saved_at):
    job = a_job(log)
    first = commanded(job, 1, saved_at, log)
    state = json.loads(json.dumps(job.state_dict()))
    rest = commanded(job, saved_at + 1, 150, log)  # and is killed
    resumed = a_job(log)
    resumed.load_state_dict(state)
    assert train(resumed, saved_at + 1, 150) == rest
    assert resumed.decisions == job.decisions
    assert len(first) == saved_at
    assert len([d for d in read_log(log).decisions if d.command]) == 2


def test_a_command_that_waits_while_the_job_is_down_is_obeyed_when_it_is_back(log):
    job = a_job(log)
    train(job, 1, 60)
    state = job.state_dict()
    send(log, "scale", 0.5)
    resumed = a_job(log)
    resumed.load_state_dict(state)
    train(resumed, 61, 70)
    assert [d.step for d in by_hand(resumed)] == [60]


def test_pause_and_end_survive_a_checkpoint(log):
    job = a_job(log)
    train(job, 1, 60)
    send(log, "pause")
    train(job, 61, 62)
    send(log, "stop")
    train(job, 63, 64)
    resumed = a_job(log)
    resumed.load_state_dict(json.loads(json.dumps(job.state_dict())))
    assert resumed.ends_after == job.ends_after == 62
    made = len(resumed.decisions)
    train(resumed, 65, 120)
    assert len(resumed.decisions) == made


def test_the_file_is_looked_at_once_a_second_and_when_a_decision_is_due(log, monkeypatch):
    monkeypatch.setattr(control, "EVERY", 1e6)
    looks: list[int] = []
    job = a_job(log)
    real = os.stat
    monkeypatch.setattr(
        os,
        "stat",
        lambda path, **kw: (str(path).endswith("control.json") and looks.append(1), real(path, **kw))[1],
    )
    train(job, 1, TOTAL)
    assert len(looks) == 20  # the first step, and the 19 window ends within the run


def test_a_copy_of_a_scheduler_obeys_nobody(log):
    import copy

    job = a_job(log)
    train(job, 1, 20)
    other = copy.deepcopy(job)
    send(log, "scale", 0.5)
    train(other, 21, 30)
    assert by_hand(other) == []


def test_a_decision_holds_the_plan_to_the_end(log):
    job = a_job(log)
    train(job, 1, 30)
    ahead = read_log(log).decisions[-1].ahead
    assert ahead[-1][0] == TOTAL
    assert ahead[0][1] == pytest.approx(job.followed().lr_at(ahead[0][0]), rel=1e-5)
    assert all(metric is not None for _, _, _, metric in ahead)
