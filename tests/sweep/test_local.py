"""Trials in worker processes of their own: every kind of bad function costs one trial, and the rest goes on."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.sweep.jobs import named

from lodestar._errors import SweepError
from lodestar.runs import Status
from lodestar.schedules import cosine
from lodestar.sweep import Done, Failed, FailureKind, Job, LocalExecutor, Reported, Started, Trial
from lodestar.sweep.executors.cores import Cores
from lodestar.sweep.executors.local_worker import LocalWorker, file_name

ODD = ("go", "raise", "exit", "leave", "crash", "never report", "fork", "print", "thread", "close", "wander", "diverge")
ODD += ("scribble",)


def trial(name, seed=0, steps=30, **settings):
    return Trial(name, seed, steps, cosine(0.1, steps), settings)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """The end of every odd trial, from one sweep on two workers; and the folder of logs."""
    logs = tmp_path_factory.mktemp("logs")
    trials = [trial(what, what=what) for what in ODD] + [trial("go again", what="go")]
    events = list(LocalExecutor(2, logs=logs, timeout=60).run(Job(named("odd")), trials))
    return {event.trial.name: event for event in events if isinstance(event, Done | Failed)}, logs


def test_every_trial_ends_once(odd):
    assert set(odd[0]) == {*ODD, "go again"}


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("raise", "it raised RuntimeError: the data are gone"),
        ("exit", "it called sys.exit(3)"),
        ("leave", "it ended its own process with exit code 7"),
        ("crash", "signal 11 (a segmentation fault"),
        ("never report", "without reporting a loss"),
        ("scribble", "its process sent what is no message"),
    ],
)
def test_a_failure_has_a_sentence_and_shows_what_was_printed(odd, what, told):
    ends, logs = odd
    assert isinstance(ends[what], Failed)
    assert told in ends[what].reason
    assert ends[what].detail
    assert f"about to {what}" in (logs / f"{file_name(what)}.log").read_text()


@pytest.mark.parametrize("what", ["go", "fork", "print", "thread", "close", "wander", "go again"])
def test_odd_but_harmless_functions_make_runs(odd, what):
    assert isinstance(odd[0][what], Done)
    assert odd[0][what].run.status is Status.FINISHED
    assert len(odd[0][what].run.loss) == 30


def test_a_diverged_trial_is_cut_and_kept(odd):
    assert odd[0]["diverge"].run.status is Status.DIVERGED


def test_a_flood_of_lines_leaves_its_beginning_and_its_end(odd):
    text = (odd[1] / "print.log").read_text()
    assert len(text) < 500_000
    assert text.startswith("about to print\nline 0\nline 1\n")
    assert "bytes left out" in text
    assert text.endswith("line 99999\n")


def test_each_trial_starts_in_the_folder_of_the_sweep(odd):
    assert odd[0]["go again"].run.facts.extra["folder"] == str(Path.cwd())


def test_workers_live_on_between_trials_and_between_runs(tmp_path):
    with LocalExecutor(1, logs=tmp_path) as executor:
        job = Job(named("good"))
        events = [*executor.run(job, [trial("a"), trial("b")]), *executor.run(job, [trial("c")])]
    pids = {event.run.facts.extra["pid"] for event in events if isinstance(event, Done)}
    assert len(pids) == 1
    assert not Path(f"/proc/{pids.pop()}").exists()


def test_a_thread_that_reports_on_and_on_disturbs_no_other_trial(tmp_path):
    trials = [trial(f"{what} {n}", what=what) for n in range(5) for what in ("late", "go")]
    events = list(LocalExecutor(1, logs=tmp_path).run(Job(named("odd")), trials))
    ended = [event.trial.name for event in events if isinstance(event, Done)]
    assert ended == [t.name for t in trials]
    running = None
    for event in events:
        if isinstance(event, Started):
            running = event.trial.name
        elif isinstance(event, Reported):
            assert event.trial.name == running


def test_a_trial_that_closes_its_channel_fails_alone_and_keeps_nobody_busy(tmp_path, monkeypatch):
    looks, look = [], LocalWorker.messages
    monkeypatch.setattr(LocalWorker, "messages", lambda worker: looks.append(worker) or look(worker))
    trials = [trial(what, what=what) for what in ("hang up", "go")]
    events = list(LocalExecutor(1, logs=tmp_path).run(Job(named("odd")), trials))
    assert len(looks) < 500  # one in a tenth of a second; thousands where it waits for nothing
    assert [type(event) for event in events if isinstance(event, Done | Failed)] == [Failed, Done]


FORGED = ('{"kind": "done"}', '{"kind": "unusable", "reason": "a trial says so"}', "[" * 100_000)


def test_no_message_a_trial_can_forge_costs_another_trial(tmp_path):
    forging = [trial(f"forge {n}", what="forge", forged=text) for n, text in enumerate(FORGED)]
    trials = [each for n, forges in enumerate(forging) for each in (forges, trial(f"go {n}", what="go"))]
    events = list(LocalExecutor(2, logs=tmp_path).run(Job(named("odd")), trials))
    ends = {event.trial.name: event for event in events if isinstance(event, Done | Failed)}
    assert set(ends) == {each.name for each in trials}
    assert all(isinstance(end, Done) for name, end in ends.items() if name.startswith("go"))
    kinds = [end.kind for end in ends.values() if isinstance(end, Failed)]
    assert kinds == [FailureKind.BAD_MESSAGE] * len(FORGED)


def test_workers_are_pinned_and_have_one_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where no other sweep on this machine holds a core
    path = tmp_path / "job.py"
    path.write_text(
        "import os\ndef train(*, schedule, report):\n    report(1, loss=1.0)\n"
        "    return {'cores': str(sorted(os.sched_getaffinity(0))), 'threads': os.environ['OMP_NUM_THREADS']}\n"
    )
    (done,) = [e for e in LocalExecutor(1).run(Job(f"{path}:train"), [trial("a")]) if isinstance(e, Done)]
    assert done.run.facts.extra["threads"] == "1"
    assert len(json.loads(str(done.run.facts.extra["cores"]))) == 1


def test_two_claims_never_share_a_core(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, second = Cores(), Cores()
    try:
        one, two = first.claim(1, 1), second.claim(1, 1)
        assert one != [()] and one != two
    finally:
        first.free()
        second.free()


def test_a_function_that_cannot_be_used_stops_the_sweep_before_a_trial():
    with pytest.raises(SweepError, match="wants 'model'"):
        list(LocalExecutor(1).run(Job(named("wants_more")), [trial("a")]))


def test_a_module_that_kills_its_process_on_import_is_told(tmp_path):
    path = tmp_path / "deadly.py"
    path.write_text("import os\nprint('bye', flush=True)\nos._exit(5)\n")
    with pytest.raises(SweepError, match=r"died before the first trial: .*exit code 5.* bye"):
        list(LocalExecutor(1).run(Job(f"{path}:train"), [trial("a")]))


def test_a_trial_that_takes_too_long_is_stopped():
    executor = LocalExecutor(1, timeout="3s")
    ends = list(executor.run(Job(named("odd")), [trial("a", what="hang"), trial("b", what="go")]))
    failed = next(e for e in ends if isinstance(e, Failed))
    assert "had not ended after 3 s" in failed.reason and failed.kind is FailureKind.TIMED_OUT
    assert isinstance(ends[-1], Done)


def test_closing_the_iterator_ends_all_workers():
    others = _children(os.getpid())  # whatever earlier tests left running: a tracker's service, say
    events = LocalExecutor(1).run(Job(named("odd")), [trial("a", what="hang")])
    assert isinstance(next(iter(events)), Started)
    children = _children(os.getpid()) - others
    assert children
    events.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert not children & _children(os.getpid())


def test_a_command_runs_in_a_worker_too():
    line = 'echo \'{"step": 30, "loss": 0.5, "metric": 1}\' >> {report}'
    (done,) = [e for e in LocalExecutor(1).run(Job(command=line), [trial("a")]) if isinstance(e, Done)]
    assert done.run.final_metric == 1


DRIVER = """
import sys
from lodestar.sweep import Job, LocalExecutor, Trial
for event in LocalExecutor(1).run(Job(command="sleep 3600 & echo $! > {pids}; wait"), [Trial("a", 0, 5)]):
    print("started", flush=True)
"""


def test_when_the_driver_is_killed_its_workers_and_their_children_die(tmp_path):
    pids = tmp_path / "pids"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER.replace("{pids}", str(pids))], stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    with driver, contextlib.closing(driver.stdout):
        assert driver.stdout.readline() == "started\n"
        while not pids.exists() or not pids.read_text().strip():
            time.sleep(0.02)
        workers = _children(driver.pid)
        driver.kill()
    everyone = {*workers, int(pids.read_text())}
    assert workers
    deadline = time.monotonic() + 120
    while any(_alive(pid) for pid in everyone):
        assert time.monotonic() < deadline, "workers outlived the driver"
        time.sleep(0.05)


def _children(pid: int) -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.add(int(path.parent.name))
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
