"""The Ray executor's bars: 95 % of ideal speed-up on a local cluster of four nodes; five nodes killed, nothing lost.

Comes in: nothing. Goes out: how long sleeping trials took on four nodes beside what they would at best, with and
without the time Ray takes to start its processes; and what a sweep left in its store after five random nodes were
killed (and replaced) under it. Needs no GPU; the nodes are processes of this machine.
"""

import contextlib
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # read when Ray is imported: stay on 127.0.0.1
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from lodestar.runs import RunStore
from lodestar.sweep import Done, Event, Job, Schedule, Started, Trial, run_trials
from lodestar.sweep.executors.ray import RayExecutor

NODES, SLOTS, SECONDS, BAR = 4, 2, 2.0, 0.95
SMALL: dict[str, Any] = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
CODE = """
import time

def train(*, schedule, total_steps, report, settings):
    for step in range(1, total_steps + 1):
        time.sleep(settings["seconds"] / total_steps)
        report(step, loss=1 / step, metric=step / total_steps)
"""


def run(trials: int = 160, kills: int = 5) -> dict[str, Any]:
    """Both bars, one cluster each."""
    return {"speed_up": speed_up(trials), "kills": killed(kills)}


def speed_up(trials: int) -> dict[str, float]:
    """Wall time of a sweep into a store against the ideal. The clock starts once each slot has made a trial."""
    with _place_of_work() as folder, _cluster() as (cluster, _):
        events: list[tuple[float, Event]] = []
        warm = NODES * SLOTS * 2
        began = time.monotonic()
        run_trials(
            Job("ray_bench_job:train"),
            _made(trials + warm, SECONDS),
            RunStore(folder / "runs"),
            RayExecutor(cluster.address),
            on_event=lambda event, standing: events.append((time.monotonic(), event)),
        )
        whole = time.monotonic() - began
    ends = [at for at, event in events if isinstance(event, Done)]
    first = min(at for at, event in events if isinstance(event, Started))
    # From the moment when `warm` trials had ended to the end of the last but `slots`: the slots are full throughout.
    slots = NODES * SLOTS
    window, made = ends[-slots] - ends[warm - 1], len(ends) - slots - warm + 1
    return {
        "slots": slots,
        "trials": trials + warm,
        "of_ideal": made * SECONDS / slots / window,
        "of_ideal_with_ramp": (trials + warm) * SECONDS / slots / (ends[-1] - first),
        "of_ideal_with_start": (trials + warm) * SECONDS / slots / whole,
        "start_s": first - began,
        "bar": BAR,
    }


def killed(kills: int, seed: int = 0) -> dict[str, Any]:
    """A sweep during which nodes are killed at random moments, each replaced; then the store is looked at."""
    chance = random.Random(seed)
    trials = _made(300, 1.5)
    ended: Counter[str] = Counter()
    used: set[str] = set()
    struck: list[int] = []
    with _place_of_work() as folder, _cluster() as (cluster, nodes):
        next_strike = float("inf")

        def on_event(event: Event, standing: object) -> None:
            nonlocal next_strike
            if isinstance(event, Done):
                ended[event.trial.name] += 1
            if isinstance(event, Started):
                used.add(event.where)
                next_strike = min(next_strike, time.monotonic() + 3.0) if not struck else next_strike
            if len(struck) < kills and time.monotonic() > next_strike:
                cluster.remove_node(nodes.pop(chance.randrange(len(nodes))), allow_graceful=False)
                nodes.append(cluster.add_node(num_cpus=SLOTS, wait=False, **SMALL))
                struck.append(sum(ended.values()))
                next_strike = time.monotonic() + chance.uniform(0.5, 4.0)

        # Not shipped: nodes of one machine share the folder of shipped code, and a new one empties it for all.
        executor = RayExecutor(cluster.address, max_retries=10, ship=False)
        job, store = Job("ray_bench_job:train"), RunStore(folder / "runs")
        result = run_trials(job, trials, store, executor, on_event=on_event)
        stored = [run.name for run in RunStore.open(folder / "runs").iter()]
    return {
        "kills": len(struck),
        "ended_at_each_kill": struck,
        "nodes_used": len(used),
        "trials": len(trials),
        "lost": len(trials) - len(set(stored)),
        "twice": len(stored) - len(set(stored)) + sum(count > 1 for count in ended.values()),
        "failed": len(result.failed),
    }


def _made(count: int, seconds: float) -> list[Trial]:
    flat = Schedule("flat", [0.1] * 10)
    return [Trial(f"t{number:04d}", number, 10, flat, {"seconds": seconds}) for number in range(count)]


@contextlib.contextmanager
def _place_of_work() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "code"
        code.mkdir()
        (code / "ray_bench_job.py").write_text(CODE)
        with contextlib.chdir(code):
            yield Path(folder)


@contextlib.contextmanager
def _cluster() -> Iterator[tuple[Any, list[Any]]]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **SMALL})
    try:
        nodes = [cluster.add_node(num_cpus=SLOTS, wait=False, **SMALL) for _ in range(NODES)]
        cluster.wait_for_nodes()
        yield cluster, nodes
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
