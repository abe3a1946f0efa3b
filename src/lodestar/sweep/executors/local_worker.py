"""The sweep's side of a worker process: starts it under a guard, talks to it, ends it with all it started."""

import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from hashlib import blake2s
from pathlib import Path
from typing import Any

from lodestar.sweep.executors import guard, wire
from lodestar.sweep.executors.output import end_of
from lodestar.sweep.trial import Job, Trial

WORKER_MARK = "LODESTAR_SWEEP_WORKER"
START = """
import sys
guard = {"__name__": "guard"}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), guard)
def worker():
    import json
    sys.path[:] = json.loads(sys.argv[2])
    from lodestar.sweep.executors.worker import main
    main(int(sys.argv[3]))
guard["guarded"](worker)
"""
END_SECONDS = 10.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
)
_SAYINGS: dict[int, str] = {
    signal.SIGSEGV: "a segmentation fault in compiled code",
    signal.SIGBUS: "a bus error; often a full disk or shared memory",
    signal.SIGABRT: "an abort in compiled code",
    signal.SIGKILL: "killed; most often because the machine ran out of memory",
}


class LocalWorker:
    """A process that makes trials. `trial` is the one it has, given or about to be."""

    def __init__(self, job: Job, *, sets_rate: bool, cores: Sequence[int], threads: int, logs: Path, number: int):
        ours, theirs = socket.socketpair()
        self.number, self.cores, self.logs = number, tuple(cores), logs
        self.job, self.sets_rate = job, sets_rate
        self.ready = False
        self.silent = False  # it has closed its end: it is about to end, or its trial closed what it did not know
        self.trial: Trial | None = None
        self.began = 0.0
        self._log = logs / f"worker-{number}.log"
        paths = [path or str(Path.cwd()) for path in sys.path]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, guard.__file__, json.dumps(paths), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,  # nothing is said there: its end is the guard's sign to end all
                env={**os.environ, **_variables(threads), WORKER_MARK: "1"},
                start_new_session=True,
            )
        self.wire = wire.Wire(ours, stall=wire.STALL_SECONDS)
        hello = {"job": dataclasses.asdict(job), "sets_rate": sets_rate, "cores": list(cores), "log": str(self._log)}
        self._send({"kind": "job", **hello})

    @property
    def where(self) -> str:
        return "core " + ",".join(map(str, self.cores)) if self.cores else f"worker {self.number}"

    def give(self) -> None:
        assert self.trial is not None
        self.began = time.monotonic()
        self._log = self.logs / f"{file_name(self.trial.name)}.log"
        self._send({"kind": "trial", "trial": wire.plain_trial(self.trial), "log": str(self._log)})

    def stop(self, reason: str) -> None:
        """Ask it to end its trial at the next report."""
        if self.trial is not None:
            self._send({"kind": "stop", "trial": self.trial.name, "reason": reason})

    def messages(self) -> list[dict[str, Any]]:
        """What has arrived; waits for nothing."""
        messages: list[dict[str, Any]] = []
        try:
            while not self.silent and self.wire.arrives():
                message = self.wire.receive()
                self.silent = message is None
                messages += [] if message is None else [message]
        except wire.BadMessage as error:
            messages.append({"kind": "bad", "reason": str(error)})
        return messages

    def printed(self) -> str:
        """The end of what it printed in its present trial."""
        return end_of(self._log)

    def how_it_died(self) -> str:
        """A sentence on a process that is no more."""
        code = self.process.returncode
        if code is not None and code < 0:
            return f"its process died of signal {-code} ({_SAYINGS.get(-code, _name(-code))})"
        return f"it ended its own process with exit code {code} (os._exit, or a crash in compiled code)"

    def ask_to_end(self) -> None:
        """Let it leave by itself: exit handlers run."""
        self._send({"kind": "end"})

    def kill(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        if self.process.returncode in (None, -signal.SIGKILL):  # the guard hangs or was killed itself
            guard.end_family(self.process.pid)
            self.process.kill()
            self.process.wait()
        self.wire.close()
        with contextlib.suppress(OSError):
            (self.logs / f"worker-{self.number}.log").unlink()

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it died: that is noticed where its process is watched
            self.wire.send(message)


def file_name(name: str) -> str:
    """A file's name for any trial's name, never the same for two."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]
    fits = plain == name and not name.startswith((".", "worker-"))
    return plain if fits else f"{plain}-{blake2s(name.encode()).hexdigest()[:8]}"


def _variables(threads: int) -> dict[str, str]:
    """Thread limits that libraries read when they are imported; what the user set stays."""
    limits = {name: str(threads) for name in THREAD_VARIABLES if name not in os.environ}
    if threads == 1 and "XLA_FLAGS" not in os.environ:
        limits["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return limits


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
