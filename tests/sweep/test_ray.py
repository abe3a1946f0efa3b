"""The Ray executor on a real cluster of several nodes on this machine: nothing lost, nothing twice, whatever dies."""

import collections
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # read when Ray is imported: stay on 127.0.0.1
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine takes longer than 30

from lodestar._errors import SweepError
from lodestar.runs import RunStore, Status
from lodestar.sweep import Done, Failed, FailureKind, Job, Reported, Schedule, Started, Trial, run_trials
from lodestar.sweep.executors.ray import RayExecutor

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves the pipes of its own processes open
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
]

CODE = """
import os, pathlib, signal, time

def train(*, schedule, seed, total_steps, report, settings):
    pathlib.Path(settings["mark"] + str(os.getpid())).touch()
    for step in range(1, total_steps + 1):
        time.sleep(settings["sleep"] / total_steps)
        report(step, loss=1 / step, metric=step / total_steps)
        while "until" in settings and not pathlib.Path(settings["until"]).exists():
            time.sleep(0.05)
    match settings.get("end"):
        case "raise":
            raise RuntimeError("no such data")
        case "crash":
            os._exit(3)
        case "lose the node's process":
            above = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
            os.kill(int(above), signal.SIGKILL)  # above the worker's guard
            time.sleep(60)
    return {"asked": settings.get("asked", 0)}
"""


# All of a node: one worker process each, since every process costs seconds to start.
SLOT: dict[str, Any] = {"cpus_per_trial": 2}


@pytest.fixture(scope="module")
def cluster():
    """A head without room for trials, and three nodes with room for one each (one of them dies below)."""
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    for _ in range(3):
        cluster.add_node(num_cpus=2, wait=False, **small)
    cluster.wait_for_nodes()
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def code(tmp_path_factory) -> Path:
    """A folder with the user's code in it, which is shipped to the nodes."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "ray_job.py").write_text(CODE)
    return folder


@pytest.fixture
def here(code, tmp_path, monkeypatch) -> Path:
    """The user stands in the folder of the code; a folder for marks of what was made."""
    (tmp_path / "marks").mkdir()
    monkeypatch.chdir(code)
    return tmp_path


def trial(here: Path, number: int, *, steps: int = 10, **settings: Any) -> Trial:
    mark = str(here / "marks" / f"{number}-")
    schedule = Schedule("flat", [0.1] * steps)
    return Trial(f"t{number}", number, steps, schedule, {"sleep": 0.6, "mark": mark, **settings})


def until(true: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.1)


JOB = Job("ray_job:train")


def test_a_node_killed_in_mid_sweep_loses_nothing_and_doubles_nothing(cluster, here):
    """No trial ends before two nodes have begun one, and the fourth to end takes a node with it."""
    doomed = next(iter(cluster.worker_nodes))
    ended: collections.Counter[str] = collections.Counter()
    nodes, kill_at = collections.defaultdict(set), 4

    def on_event(event, progress) -> None:
        if isinstance(event, Started):
            nodes[event.where].add(event.trial.name)
            if len(nodes) == 2:
                (here / "both").touch()
        if isinstance(event, Done):
            ended[event.trial.name] += 1
            if sum(ended.values()) == kill_at:
                cluster.remove_node(doomed, allow_graceful=False)

    trials = [trial(here, number, asked=number, sleep=0.3, until=str(here / "both")) for number in range(20)]
    executor = RayExecutor(cluster.address, **SLOT)
    result = run_trials(JOB, trials, RunStore(here / "runs"), executor, on_event=on_event)
    assert (result.finished, result.failed) == (20, ())
    assert set(ended.values()) == {1} and len(ended) == 20
    stored = RunStore.open(here / "runs").read()
    assert {run.name: run.facts.extra["asked"] for run in stored} == {f"t{number}": number for number in range(20)}
    assert all(len(run.loss) == len(run.metric) == 10 for run in stored)
    assert len(nodes) >= 2


class TestConnected:
    """What trials do to one another, on a connection that is there: the nodes' processes are started once."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def driver(cls, cluster, code):
        import ray

        env = {"working_dir": str(code)}
        ray.init(cluster.address, runtime_env=env, log_to_driver=False, logging_level=logging.WARNING)
        yield
        ray.shutdown()

    def test_a_trial_is_stopped_on_its_node_at_one_of_its_next_reports(self, cluster, here):
        """The trial would go on for minutes, and goes on at all only once it was asked to end."""
        executor = RayExecutor(cluster.address, **SLOT)
        trials = [trial(here, 0, steps=10_000, sleep=500, until=str(here / "asked")), trial(here, 1)]
        ended = {}
        for event in executor.run(JOB, trials):
            if isinstance(event, Reported) and event.trial.name == "t0" and not (here / "asked").exists():
                assert executor.stop(event.trial, "it has no chance")
                (here / "asked").touch()
            if isinstance(event, Done):
                ended[event.trial.name] = event.run
        assert ended["t0"].status is Status.CUT_SHORT and ended["t0"].last_step < 10_000
        assert any("it has no chance" in str(note) for note in ended["t0"].notes)
        assert ended["t1"].status is Status.FINISHED and not executor.stop(trials[0], "it is over")

    def test_what_a_trial_does_is_told_and_the_others_go_on(self, cluster, here):
        ends = {0: "raise", 1: "crash", 2: "lose the node's process"}
        trials = [trial(here, number, end=ends.get(number, "")) for number in range(6)]
        trials[3] = trial(here, 3, until=str(here / "heard"))
        events = []
        for event in RayExecutor(cluster.address, max_retries=1, **SLOT).run(JOB, trials):
            events.append(event)
            if isinstance(event, Reported) and event.trial.name == "t3":  # it goes on once it was heard of
                (here / "heard").touch()
        failed = {event.trial.name: event for event in events if isinstance(event, Failed)}
        assert {event.trial.name for event in events if isinstance(event, Done)} == {"t3", "t4", "t5"}
        assert "RuntimeError: no such data" in failed["t0"].reason and "ray_job.py" in failed["t0"].detail
        assert "exit code 3" in failed["t1"].reason
        assert "lost 2 times" in failed["t2"].reason
        kinds = [failed[f"t{number}"].kind for number in (0, 1, 2)]
        assert kinds == [FailureKind.RAISED, FailureKind.DIED, FailureKind.NODE_LOST]
        marks = collections.Counter(path.name.split("-")[0] for path in (here / "marks").iterdir())
        assert (marks["0"], marks["1"], marks["2"]) == (1, 1, 2)  # a failure of the user's code is not tried again
        order = [type(event) for event in events if event.trial.name == "t3"]
        assert order[0] is Started and order[-1] is Done and Reported in order

    def test_a_trial_that_takes_too_long_is_ended(self, cluster, here):
        """Alone: a limit that is short enough for a test is too short for a trial on a busy machine."""
        [*_, last] = RayExecutor(cluster.address, timeout="2s", **SLOT).run(JOB, [trial(here, 0, sleep=3600)])
        assert isinstance(last, Failed) and last.kind is FailureKind.TIMED_OUT
        assert "had not ended after 2 s" in last.reason

    def test_closing_the_iterator_ends_all_that_runs(self, cluster, here):
        trials = [trial(here, number, sleep=3600) for number in range(4)]
        events = RayExecutor(cluster.address, **SLOT).run(JOB, trials)
        assert isinstance(next(events), Started)
        until(lambda: any((here / "marks").iterdir()), 300)
        pids = [int(path.name.split("-")[1]) for path in (here / "marks").iterdir()]
        events.close()  # pyright: ignore[reportAttributeAccessIssue]
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 120)


def test_a_function_that_is_not_there_ends_the_sweep_with_a_sentence(cluster, here):
    with pytest.raises(SweepError, match=r"on node .*ray_job has no 'tran'.*perhaps train"):
        list(RayExecutor(cluster.address).run(Job("ray_job:tran"), [trial(here, 0)]))


def test_the_slots_are_those_of_the_nodes_that_are_up(cluster, here):
    executor = RayExecutor(cluster.address, cpus_per_trial=2)
    try:
        assert executor.slots == len(cluster.worker_nodes)
        assert RayExecutor(cluster.address, gpus_per_trial=1).slots == 0  # connected already: the same cluster
    finally:
        executor.close()


def test_no_cluster_is_said_with_the_cure(here):
    with pytest.raises(SweepError, match=r"no Ray cluster at 127.0.0.1:1 .*ray status"):
        _ = RayExecutor("127.0.0.1:1").slots
    with pytest.raises(SweepError, match=r"no Ray cluster at ray://127.0.0.1:1 .*10001.*token"):
        _ = RayExecutor("ray://127.0.0.1:1").slots


@pytest.mark.parametrize(
    "wrong", [{"cpus_per_trial": -1}, {"gpus_per_trial": -1}, {"cpus_per_trial": 0}, {"max_retries": -1}]
)
def test_bad_arguments_are_refused(wrong):
    with pytest.raises(ValueError, match="Fix"):
        RayExecutor(**wrong)
