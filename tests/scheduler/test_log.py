import json

import pytest
from tests.scheduler.live import train

from lodestar._errors import LodestarError
from lodestar.scheduler import Decision, Outcome, Scheduler, Winner, read_log
from lodestar.testing import random_forecaster

TOTAL = 400
FORECASTER = random_forecaster(seed=5, points=40)


def logged(path, stop=TOTAL) -> Scheduler:
    one = Scheduler(FORECASTER, TOTAL, log=path, tolerance=20.0, hysteresis=None)
    train(one, 1, stop)
    return one


def test_every_decision_is_a_line_that_reads_back(tmp_path):
    one = logged(tmp_path / "deep" / "log.jsonl")
    log = read_log(tmp_path / "deep" / "log.jsonl")
    assert log.decisions == one.decisions
    assert log.header["total_steps"] == TOTAL
    assert log.skipped == 0


def test_a_person_can_read_a_line(tmp_path):
    logged(tmp_path / "log.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines[0]["format"] == "lodestar-log"
    assert lines[1]["outcome"] == "opened with the plan decoded from the best past run"
    assert {"step", "loss", "tolerance", "samples", "accepted", "winners", "predicted", "band", "lr"} <= set(lines[2])


def test_a_half_line_left_by_a_kill_is_skipped_and_closed_off(tmp_path):
    path = tmp_path / "log.jsonl"
    one = logged(path, 100)
    with path.open("ab") as stream:
        stream.write(b'{"kind": "decision", "window": 5, "ste')
    assert read_log(path).skipped == 1
    again = Scheduler(FORECASTER, TOTAL, log=path, tolerance=20.0, hysteresis=None)
    again.load_state_dict(one.state_dict())
    train(again, 101, 200)
    log = read_log(path)
    assert log.skipped == 1
    assert log.decisions == again.decisions


def test_windows_decided_again_after_a_resume_count_once(tmp_path):
    path = tmp_path / "log.jsonl"
    one = Scheduler(FORECASTER, TOTAL, log=path, tolerance=20.0, hysteresis=None)
    train(one, 1, 100)
    saved = one.state_dict()
    train(one, 101, 200)  # lost: the job is killed here
    again = Scheduler(FORECASTER, TOTAL, log=path, tolerance=20.0, hysteresis=None)
    again.load_state_dict(saved)
    train(again, 101, TOTAL)
    assert read_log(path).decisions == again.decisions


def test_a_log_that_cannot_be_written_is_a_warning(tmp_path):
    path = tmp_path / "log.jsonl"
    one = Scheduler(FORECASTER, TOTAL, log=path)
    path.unlink()
    path.mkdir()
    train(one, 1, TOTAL)
    assert len([text for text in one.warnings if "could not be written" in text]) == 1


def test_warnings_are_logged(tmp_path):
    path = tmp_path / "log.jsonl"
    one = Scheduler(FORECASTER, TOTAL, log=path)
    one.observe(5, loss="high")
    one.lr_at(6)
    assert read_log(path).warnings == one.warnings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a Lodestar log"),
        ('{"a": 1}\n', "is not a Lodestar log"),
        ("\x00\x01\n[1]\n", "is not a Lodestar log"),
        ('{"format": "lodestar-log", "version": 9}\n', "log version 9"),
    ],
)
def test_what_is_not_a_log_is_refused(tmp_path, text, words):
    (tmp_path / "x").write_text(text)
    with pytest.raises(LodestarError, match=words):
        read_log(tmp_path / "x")


def test_a_missing_log_is_an_error(tmp_path):
    with pytest.raises(LodestarError, match="cannot be read"):
        read_log(tmp_path / "none")


def test_a_decision_is_plain_data_and_back():
    decision = Decision(
        1,
        20,
        Outcome.KEPT,
        1.5,
        None,
        0.1,
        30,
        2,
        (Winner("local", 0, 1, 0.5, 0.6),),
        interval=(0.1, 0.9),
        lr=((21, 0.1),),
    )
    assert Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision
    assert Decision.from_dict(decision.to_dict() | {"from a later version": 1}) == decision
