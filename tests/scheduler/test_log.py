import json
import os

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
    assert lines[1]["outcome"] == "began with the initial plan, forecast from the best past runs"
    assert lines[1]["outcome_kind"] == "initial-plan"
    assert {"step", "loss", "tolerance", "samples", "accepted", "winners", "predicted", "band", "lr"} <= set(lines[2])


def test_the_log_names_its_run(tmp_path):
    facts = {"batch_size": 256, "model": "mlp"}
    one = Scheduler(FORECASTER, TOTAL, seed=4, log=tmp_path / "a.jsonl", run_name="wide/seed-4", facts=facts)
    one.lr_at(1)
    head = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])
    assert head["run"] == {"name": "wide/seed-4", "facts": facts}
    known = {"total_steps": TOTAL, "metric": "accuracy", "direction": "max", "seed": 4, "mode": "steer"}
    assert known.items() <= head.items()
    assert head["settings"] == one.settings.to_dict()
    log = read_log(tmp_path / "a.jsonl")
    assert (log.run_name, log.facts) == ("wide/seed-4", facts)


def test_a_run_without_a_name_has_its_logs(tmp_path):
    logged(tmp_path / "wide-4.jsonl", 1)
    log = read_log(tmp_path / "wide-4.jsonl")
    assert (log.run_name, log.facts) == ("wide-4", {})


def test_a_log_of_release_one_names_no_run_and_has_its_own_sentences(tmp_path):
    sentence = "changed gear: this job answers to a learning rate otherwise than the past runs did"
    lines = [
        {"kind": "start", "format": "lodestar-log", "version": 1, "total_steps": TOTAL},
        {"kind": "decision", "window": 0, "step": 0, "outcome": "opened with the plan decoded from the best past run"},
        {"kind": "decision", "window": 3, "step": 60, "outcome": sentence, "band": [0.1, 0.9]},
        {"kind": "decision", "window": 4, "step": 80, "outcome": str(Outcome.KEPT)},
    ]
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_log(tmp_path / "old.jsonl")
    assert (log.run_name, log.facts) == (None, {})
    assert [d.outcome for d in log.decisions] == [Outcome.INITIAL_PLAN, Outcome.RESCALED, Outcome.KEPT]
    assert log.decisions[1].interval == (0.1, 0.9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"run_name": ""}, "run_name must be a text, got ''"),
        ({"run_name": 3}, "run_name must be a text, got 3"),
        ({"facts": {"lr": float("nan")}}, "facts must be a dict of texts and finite numbers"),
        ({"facts": {"model": object()}}, "facts must be a dict of texts and finite numbers"),
        ({"facts": 3}, "facts must be a dict"),
    ],
)
def test_names_and_facts_that_a_log_cannot_hold_are_refused(options, words):
    with pytest.raises(ValueError, match=r"Fix: ") as caught:
        Scheduler(FORECASTER, TOTAL, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_outcome_is_known_by_its_kind_whatever_its_sentence(outcome):
    data = Decision(1, 20, outcome).to_dict() | {"outcome": "another sentence"}
    assert Decision.from_dict(data).outcome is outcome


def test_a_cut_and_a_rescaling_at_a_windows_end_do_not_hide_its_decision(tmp_path):
    one = Scheduler(FORECASTER, TOTAL, log=tmp_path / "log.jsonl", unlike=0.0, tolerance=20.0)
    for step in range(1, TOTAL + 1):
        one.lr_at(step)
        one.observe(step, loss=float("nan") if 75 < step <= 80 else 1.7, metric=0.3 + 0.1 * (step // 10 % 2))
    made = [(d.step, d.outcome) for d in one.decisions]
    assert len({step for step, _ in made}) < len(made)  # several at one step
    assert read_log(tmp_path / "log.jsonl").decisions == one.decisions


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


@pytest.mark.parametrize("kind", ["a pipe", "a device without end"])
def test_what_has_no_end_is_not_read(tmp_path, kind):
    if kind == "a pipe":
        os.mkfifo(tmp_path / "x")
    else:
        (tmp_path / "x").symlink_to("/dev/zero")
    with pytest.raises(LodestarError, match="cannot be read: it is no file"):
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
