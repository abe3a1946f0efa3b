"""Sending a command: what is refused, with a sentence, and that a kill of either side loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.watch.serving import a_job, train

from lodestar._errors import CommandError
from lodestar.scheduler import Outcome, read_log
from lodestar.scheduler.records.command import control_path
from lodestar.testing import random_forecaster
from lodestar.watch.commands import answer, send, withdraw


@pytest.fixture
def job(tmp_path):
    made = a_job(tmp_path, random_forecaster(seed=2, points=100))
    train(made, 1, 21)
    return made


@pytest.fixture
def log(job, tmp_path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_command_waits_and_is_answered_once_the_job_has_looked(job, log):
    sent = send(log, "pause", by="Ada")
    assert answer(read_log(log), sent) is None
    train(job, 22, 42)
    found = answer(read_log(log), sent)
    assert found is not None
    assert (found.outcome, found.command) == (Outcome.PAUSED, sent)


def test_a_second_command_is_refused_while_one_waits(log):
    send(log, "pause", by="Ada")
    with pytest.raises(CommandError, match=r"a command still waits for 'run': pause, sent by Ada at .*Fix: wait"):
        send(log, "stop", by="Bob")
    assert withdraw(log) == "withdrawn: pause, sent by Ada"
    send(log, "stop", by="Bob")


def test_two_writers_at_once_leave_one_command(log):
    words = (
        "import sys; from pathlib import Path; from lodestar.watch.commands import send;"
        "send(Path(sys.argv[1]), 'scale', 0.5, sys.argv[2])"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", words, str(log), f"writer {i}"], stderr=subprocess.PIPE, text=True)
        for i in range(3)
    ]
    told = [writer.communicate(timeout=120)[1] for writer in writers]
    assert sorted(writer.returncode for writer in writers) == [0, 1, 1]
    assert sum("a command still waits" in text for text in told) == 2


def test_a_job_that_is_over_takes_no_command(job, log):
    train(job, 22, 200)
    with pytest.raises(CommandError, match=r"'run' is over: .*planned updates made"):
        send(log, "pause")


def test_a_job_without_control_takes_no_command(tmp_path):
    train(a_job(tmp_path, random_forecaster(seed=2, points=100), control=False), 1, 21)
    with pytest.raises(CommandError, match=r"takes no commands\. Fix: start it with control=True"):
        send(tmp_path / "run.jsonl", "pause")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b'{"format": "lodestar-control", "version": 1}', b"[" * 99]
)
def test_a_damaged_file_is_refused_and_can_be_withdrawn(log, content):
    control_path(log).write_bytes(content)
    with pytest.raises(CommandError, match=r"is damaged: .*Fix: lodestar control"):
        send(log, "pause")
    assert withdraw(log) == "the damaged command file was removed"
    send(log, "pause")


@pytest.mark.parametrize(
    ("do", "value", "why"),
    [
        ("fly", None, "there is no command 'fly'"),
        ("pause", 3, "pause takes no value"),
        ("scale", 0, "must be above 0"),
        ("scale", float("nan"), "must be a finite number"),
        ("extend", 1.5, "must be a whole number"),
        ("take", [], "must be 1 to 1000 pairs"),
        ("take", [[5, 1e-3], [5, 1e-3]], "must rise"),
        ("take", [[5, -1e-3]], "must be a finite number >= 0"),
        ("take", [[5]], "pairs of step and lr"),
    ],
)
def test_a_bad_value_is_refused_before_anything_is_written(log, do, value, why):
    with pytest.raises(CommandError, match=why):
        send(log, do, value)
    assert not control_path(log).exists()


def test_no_log_no_command(tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        send(tmp_path / "none.jsonl", "pause")


def test_withdraw_says_when_nothing_waited(log):
    assert withdraw(log) == "nothing waited"


JOB = """
import sys, time
from pathlib import Path
from lodestar.adapters.loop import SteeredLoop
from lodestar.testing import random_forecaster
log, state = sys.argv[1:3]
loop = SteeredLoop(random_forecaster(seed=2, points=100), 200, log=log, state=state, control=True, gate=None)
for step, lr in loop:
    loop.observe(loss=1.9 - 0.6 * step / 200, metric=0.3 if step % 10 == 0 else None)
    if step % 5 == 0:
        loop.save()
    if len(sys.argv) > 3 and step == int(sys.argv[3]):
        print("here", flush=True)
        time.sleep(600)
print("done", loop.summary())
"""


def test_a_killed_job_goes_on_and_obeys_what_was_sent_meanwhile(tmp_path):
    log, words = (
        tmp_path / "run.jsonl",
        [sys.executable, "-c", JOB, str(tmp_path / "run.jsonl"), str(tmp_path / "s.json")],
    )
    first = subprocess.Popen([*words, "103"], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline().strip() == "here"
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    sent = send(log, "scale", 0.5, by="Ada")
    before = read_log(log).decisions
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert "200 of 200 planned updates made" in done.stdout, done.stderr
    record = read_log(log)
    found = answer(record, sent)
    assert found is not None
    assert found.step == 100  # the checkpoint it went on from
    assert [d for d in record.decisions if d.step < 100] == [d for d in before if d.step < 100]
    assert record.over


def test_the_file_is_plain_and_names_its_format(log):
    send(log, "scale", 0.5, by="Ada")
    content = json.loads(control_path(log).read_text())
    assert (content["format"], content["version"]) == ("lodestar-control", 1)
    assert content["command"]["by"] == "Ada"
    assert abs(time.time() - control_path(log).stat().st_mtime) < 3600
