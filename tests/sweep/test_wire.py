"""Trials and runs come out of a message exactly as they went in, and what is no message does no harm."""

import contextlib
import json
import socket
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.runs import Direction, Facts, Note, NoteKind, Run, Series, Status
from lodestar.sweep import Schedule, Trial
from lodestar.sweep.executors.wire import BadMessage, Wire, event_of, plain_run, plain_trial, run_of, trial_of

numbers = st.floats(allow_nan=True, allow_infinity=True)
rates = st.lists(st.floats(0, 1e6), min_size=1, max_size=20)


@settings(deadline=None)
@given(rates, st.integers(0, 2**40), st.dictionaries(st.text(), st.one_of(st.text(), st.booleans(), numbers)))
def test_a_trial_is_the_same_on_the_other_side(found, seed, told):
    trial = Trial("a", seed, 7, Schedule("mine", found), told)
    again = trial_of(json.loads(json.dumps(plain_trial(trial))))
    assert again.digest == trial.digest
    assert again.schedule is not None and np.array_equal(again.schedule.rates, found)


@settings(deadline=None)
@given(st.lists(numbers, min_size=1, max_size=30), st.lists(numbers, max_size=5), rates)
def test_a_run_is_the_same_on_the_other_side(loss, metric, lr):
    def series(values):
        return Series(np.arange(len(values)), values)

    note = Note("n", NoteKind.SORTED)
    facts = Facts("task", "cosine", 0.1, 3, "sweep", {"a": 1, "b": "x"})
    run = Run("r", series(loss), series(metric), series(lr), Direction.MIN, Status.DIVERGED, 99, "f1", facts, (note,))
    again = run_of(json.loads(json.dumps(plain_run(run))))
    assert again == run and again.notes[0].kind is NoteKind.SORTED


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=50), max_size=3), max_size=5))
def test_messages_come_whole_and_in_order_and_then_the_end(found):
    a, b = socket.socketpair()
    messages = [{"kind": "x", **message} for message in found]
    sender, reader = Wire(a), Wire(b)
    with contextlib.closing(reader):
        for message in messages:
            sender.send(message)
        sender.close()
        assert [reader.receive() for _ in messages] == messages
        assert reader.arrives(1) and reader.receive() is None


def test_threads_that_send_at_once_do_not_mix_their_messages():
    a, b = socket.socketpair()
    sender, reader = Wire(a), Wire(b)
    together = threading.Barrier(4)

    def send(number):
        together.wait()
        for _ in range(10):
            sender.send({"kind": "x", "from": number, "text": str(number) * 300_000})  # a socket takes less at once

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    with contextlib.closing(sender), contextlib.closing(reader):
        for thread in threads:
            thread.start()
        messages = [reader.receive() or {} for _ in range(40)]
        for thread in threads:
            thread.join()
    assert sorted(message["from"] for message in messages) == sorted([0, 1, 2, 3] * 10)
    assert all(set(message["text"]) == {str(message["from"])} for message in messages)


def test_a_forked_child_sends_nothing():
    a, b = socket.socketpair()
    sender, reader = Wire(a), Wire(b)
    with contextlib.closing(reader):
        sender._owner += 1  # as a child of a fork sees it
        sender.send({"kind": "x"})
        sender.close()
        assert reader.receive() is None


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\0\0\0\4oops", "JSONDecodeError"),
        (b"\0\0\0\2[]", "without a kind"),
        (b"\0\0\0\4\xff\xff\xff\xff", "UnicodeDecodeError"),
        (b"\xff\xff\xff\xfe", "JSONDecodeError"),  # a negative length
        (b"\0\0\1\0{", "BlockingIOError"),  # half of it, and no more
        (b"\xff\xff\xff\xff" + b"\x7f" * 8, "OSError"),  # longer than any memory
        (b"\x7f\xff\xff\xff", "OSError"),
        (b"\0\1\0\0" + b"[" * 2**16, "RecursionError"),
    ],
)
def test_what_is_no_message_is_told_and_waits_for_nothing(data, told):
    a, b = socket.socketpair()
    reader = Wire(b, stall=1)
    with a, contextlib.closing(reader):
        a.sendall(data)
        with pytest.raises(BadMessage, match=told):
            reader.receive()


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "done"},
        {"kind": "done", "run": {}, "seconds": 1},
        {"kind": "done", "run": {"curves": []}, "seconds": 1},
        {"kind": "done", "run": "mine", "seconds": 1},
        {"kind": "failed", "reason": 3},
        {"kind": "failed", "how": "raised", "reason": "r", "detail": "d", "seconds": "soon"},
        {"kind": "failed", "how": "somehow", "reason": "r", "detail": "d", "seconds": 1},
        {"kind": "report", "step": 1},
        {"kind": "report", "step": [], "loss": 1, "metric": None},
        {"kind": "ready"},
        {"kind": ["a", "list"]},
        {"kind": None},
    ],
)
def test_a_message_that_is_not_whole_is_a_bad_one(message):
    with pytest.raises(BadMessage):
        event_of(Trial("a", 0, 7), message)


def test_a_run_of_another_name_is_none_of_this_trial():
    curve = Series([1], [1.0])
    run = plain_run(Run("b", curve, curve, curve, Direction.MIN))
    with pytest.raises(BadMessage):
        event_of(Trial("a", 0, 7), {"kind": "done", "run": run, "seconds": 1})
    assert event_of(Trial("b", 0, 7), {"kind": "done", "run": run, "seconds": 1}).trial.name == "b"
