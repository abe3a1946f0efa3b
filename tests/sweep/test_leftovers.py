"""What a trial starts ends with it, whatever session it is in; and nothing outlives a sweep that is killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.sweep.jobs import HERE, named

from lodestar.schedules import cosine
from lodestar.sweep import Done, Failed, FailureKind, Job, LocalExecutor, Trial
from lodestar.sweep.executors.guard import family

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")

DRIVER = """
import sys
from lodestar.schedules import cosine
from lodestar.sweep import Job, LocalExecutor, Trial
trial = Trial("a", 0, 5, cosine(0.1, 5), {"what": sys.argv[2], "pids": sys.argv[3]})
for event in LocalExecutor(1, logs=sys.argv[3] + ".logs").run(Job(sys.argv[1] + ":leaves"), [trial]):
    pass
"""


def trial(tmp_path, what, name="a"):
    return Trial(name, 0, 5, cosine(0.1, 5), {"what": what, "pids": str(tmp_path / "pids")})


def test_children_in_a_session_of_their_own_end_with_their_trial(tmp_path):
    trials = [trial(tmp_path, what, what) for what in ("own session", "orphan", "nothing", "hang")]
    events = list(LocalExecutor(1, logs=tmp_path, timeout=3).run(Job(named("leaves")), trials))
    ends = {event.trial.name: event for event in events if isinstance(event, Done | Failed)}
    assert isinstance(ends["nothing"], Done) and isinstance(ends["orphan"], Done)
    assert getattr(ends["hang"], "kind", None) is FailureKind.TIMED_OUT
    left = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(left) == 3  # one a trial, but for the one that starts nothing
    until_gone(left)


def test_they_are_gone_before_the_next_trial_begins(tmp_path):
    trials = [trial(tmp_path, what, what) for what in ("own session", "look")]
    ends = [e for e in LocalExecutor(1, logs=tmp_path).run(Job(named("leaves")), trials) if isinstance(e, Done)]
    assert ends[-1].run.facts.extra["alive"] == 0


def test_children_of_a_trial_that_crashes_end_too(tmp_path):
    (failed,) = [
        event
        for event in LocalExecutor(1, logs=tmp_path).run(Job(named("leaves")), [trial(tmp_path, "crash")])
        if isinstance(event, Failed)
    ]
    assert "signal 9" in failed.reason
    until_gone([int((tmp_path / "pids").read_text())])


@pytest.mark.parametrize("what", ["deaf", "hang"])
def test_nothing_outlives_a_sweep_that_is_killed(tmp_path, what):
    """A deaf worker is in compiled code that never lets another thread of its own run."""
    pids = tmp_path / "pids"
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, HERE, what, str(pids)], env=with_tests())
    with driver:
        while not pids.exists() or not pids.read_text().endswith("\n"):
            assert driver.poll() is None
            time.sleep(0.02)
        everyone = family(driver.pid)
        driver.kill()
    assert len(everyone) >= 3  # who watches, the worker, its child
    until_gone([*everyone, int(pids.read_text())])


HEADLESS = """
import ctypes, platform, subprocess, threading, time
threading.Thread(target=time.sleep, args=(3600,)).start()
print(subprocess.Popen(["sleep", "3600"], start_new_session=True).pid, flush=True)
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)  # exit, of this thread alone
"""


def test_children_are_found_below_a_process_whose_first_thread_has_ended():
    """Such a process counts as dead, and keeps its children until its last thread ends."""
    with subprocess.Popen([sys.executable, "-c", HEADLESS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            deadline = time.monotonic() + 120
            while running(parent.pid):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert child in family(os.getpid())
        finally:
            os.kill(child, signal.SIGKILL)
            parent.kill()


def test_a_trial_that_kills_its_parent_costs_itself_alone(tmp_path):
    trials = [trial(tmp_path, what, what) for what in ("kill parent", "nothing")]
    ends = [
        e for e in LocalExecutor(1, logs=tmp_path).run(Job(named("leaves")), trials) if isinstance(e, Done | Failed)
    ]
    assert [type(end) for end in ends] == [Failed, Done]


def with_tests() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])}


def until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 120
    while alive := [pid for pid in pids if running(pid)]:
        assert time.monotonic() < deadline, f"still alive: {alive}"
        time.sleep(0.05)


def running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False
