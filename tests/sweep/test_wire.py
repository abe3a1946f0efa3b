"""Trials and runs come out of a message exactly as they went in, and frames survive being cut anywhere."""

import json
import socket

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar.runs import Direction, Facts, Run, Series, Status
from lodestar.sweep import Schedule, Trial
from lodestar.sweep.executors.wire import Channel, plain_run, plain_trial, run_of, trial_of

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

    facts = Facts("task", "cosine", 0.1, 3, "sweep", {"a": 1, "b": "x"})
    run = Run("r", series(loss), series(metric), series(lr), Direction.MIN, Status.DIVERGED, 99, "f1", facts, ("n",))
    assert run_of(json.loads(json.dumps(plain_run(run)))) == run


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=50), max_size=3), max_size=5), st.integers(1, 9))
def test_frames_may_arrive_in_pieces(messages, size):
    a, b = socket.socketpair()
    c, d = socket.socketpair()
    with a, b, c, d:
        for message in messages:
            Channel(a).send(message)
        a.close()
        sent = b"".join(iter(lambda: b.recv(4096), b""))
        reader, found = Channel(d), []
        for start in range(0, len(sent), size):
            c.sendall(sent[start : start + size])
            found += reader.receive() or []
        c.close()
        assert found == messages
        assert reader.receive() is None
