"""The process above a worker: when the worker or the sweep is gone, however it went, it ends all the worker started.

It forks the worker before anything is imported, so that is as good as a fresh interpreter; it holds no lock that
compiled code could keep from it. On Linux, orphans become its children, so that whatever session they are in, they are
found. Elsewhere it ends the worker's process group. What asked another service for its process (docker, systemd, cron)
or runs as another user is out of reach. This file is run by its path: it imports the standard library alone.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LOOK_SECONDS = 1.0
ROUNDS, ROUND_SECONDS = 100, 0.01


def guarded(worker: Callable[[], None]) -> None:
    """Fork; the child calls `worker`. The parent waits for its end, or that of the sweep, which holds our stdin."""
    sweep, above = os.getppid(), os.getpid()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)  # the worker may signal its own group
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), 0)
        if os.getppid() == above:
            worker()
        return
    with contextlib.suppress(OSError):  # it has its own group already, or is gone
        os.setpgid(pid, pid)
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 2**16))  # the worker's channel is to end with the worker
    status = _watch(pid, sweep)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    end_family(above)
    _end_as(status)


def _watch(worker: int, sweep: int) -> int | None:
    """The worker's status when it has ended; None when the sweep has, or wants the worker to."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    while True:
        for pid, status in _reaped():
            if pid == worker:
                return status
        ready, _, _ = select.select([0, wake], [], [], LOOK_SECONDS)
        signals = os.read(wake, 4096) if wake in ready else b""
        if 0 in ready or signal.SIGTERM in signals or os.getppid() != sweep:
            return None


def _reaped() -> Iterator[tuple[int, int]]:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def _end_as(status: int | None) -> None:
    """End as the worker did, so that the sweep sees how."""
    code = 1 if status is None else os.waitstatus_to_exitcode(status)
    if code < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler to reset
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(abs(code))


def end_family(root: int) -> None:
    """Kill all that descend from `root` or share its session, but not `root` and not this process."""
    spared = {root, os.getpid()}
    for _ in range(ROUNDS):  # what is forked in the meantime is met in the next round
        members = family(root) - spared
        if not members:
            return
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(ROUND_SECONDS)


def family(root: int) -> set[int]:
    """The living descendants of `root`, and the members of its session; none where there is no /proc.

    Searched through the dead as well: a process whose first thread has ended counts as dead while its others still
    run, and has its children until the last of them ends.
    """
    processes = dict(_processes())
    members = {pid for pid, (_, session, _) in processes.items() if session == root} - {root}
    new = {root} | members
    while new:
        new = {pid for pid, (parent, _, _) in processes.items() if parent in new} - members - {root}
        members |= new
    return {pid for pid in members if processes[pid][2]}


def _processes() -> Iterator[tuple[int, tuple[int, int, bool]]]:
    """Every process with its parent, its session, and whether it lives."""
    with contextlib.suppress(FileNotFoundError), os.scandir("/proc") as entries:
        for pid in [int(entry.name) for entry in entries if entry.name.isdigit()]:
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123  quick: there may be thousands
                    state, parent, _, session = file.read(1024).rpartition(b")")[2].split()[:4]
                yield pid, (int(parent), int(session), state not in b"ZX")


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
