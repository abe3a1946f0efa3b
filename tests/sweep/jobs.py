"""Training functions for the sweep's tests: good ones, and every kind of bad one."""

import ctypes
import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from lodestar.sweep import recorder

HERE = str(Path(__file__).resolve())


def named(function: str) -> str:
    """How a sweep is told of a function of this file."""
    return f"{HERE}:{function}"


def good(*, schedule, seed, total_steps, report):
    """A loss that falls, a metric now and then."""
    for step in range(1, total_steps + 1):
        report(step, loss=1 / step + schedule(step), metric=step + seed if step % 5 == 0 else None)
    return {"pid": os.getpid(), "seen": schedule.peak}


def slow(*, schedule, seed, total_steps, report, settings):
    """The same, taking its time; leaves a line in a file each time it is called."""
    if "calls" in settings:
        with Path(settings["calls"]).open("a") as file:
            file.write(f"{seed}\n")
    for step in range(1, total_steps + 1):
        time.sleep(settings.get("seconds", 0.1) / total_steps)
        report(step, loss=1 / step, metric=step)


def odd(*, schedule, seed, total_steps, report, settings):
    """Does what its settings say."""
    what = settings["what"]
    print(f"about to {what}")
    match what:
        case "raise":
            raise RuntimeError("the data are gone")
        case "exit":
            sys.exit(3)
        case "leave":
            os._exit(7)
        case "crash":
            ctypes.string_at(0)
        case "never report":
            return None
        case "fork":
            os.fork()
        case "print":
            for line in range(100_000):
                print("line", line)
        case "thread":
            threading.Thread(target=time.sleep, args=(3600,)).start()
        case "close":
            sys.stdout.close()
        case "wander":
            os.chdir("/")
        case "late":
            recorder.PROGRESS_SECONDS = 0.0  # in this process, every report is sent
            sys.setswitchinterval(1e-6)
            for _ in range(3):
                threading.Thread(target=_keep_reporting, args=(report,), daemon=True).start()
        case "hang up":
            os.closerange(3, 256)
            time.sleep(2)
        case "scribble":
            _scribble(b"hello")
        case "forge":
            _scribble(settings["forged"].encode())
        case "hang":
            time.sleep(3600)
    lost = what == "diverge"
    for step in range(1, total_steps + 1):
        report(step, loss=float("nan") if lost and step > 5 else 1 / step, metric=step)
    return {"nan": float("nan"), "folder": str(Path.cwd())} if what != "return" else float("nan")


def _scribble(text):
    """Into the channel between this process and the sweep, past everything that keeps it in order."""
    for link in Path("/proc/self/fd").iterdir():
        if link.is_symlink() and "socket" in str(link.readlink()):
            os.write(int(link.name), len(text).to_bytes(4, "big") + text)


def leaves(*, schedule, report, total_steps, settings):
    """Leaves a process in a session of its own behind, its id in a file; ends as its settings say, or not at all."""
    what, pids = settings["what"], Path(settings["pids"])
    for step in range(1, total_steps + 1):
        report(step, loss=1 / step)
    if what == "look":
        left = [Path(f"/proc/{pid}/stat") for pid in pids.read_text().split()]
        return {"alive": sum(path.exists() and ") Z " not in path.read_text() for path in left)}
    if what == "kill parent":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(3600)
    if what == "orphan":  # its parent, the shell, ends at once
        subprocess.run(f"setsid sleep 3600 & echo $! >> {pids}", shell=True, check=True)
    elif what != "nothing":
        child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
        with pids.open("a") as file:
            file.write(f"{child.pid}\n")
    match what:
        case "hang":
            time.sleep(3600)
        case "deaf":
            ctypes.PyDLL(None).sleep(3600)  # holds the interpreter's lock
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
    return None


def disturbs(*, schedule, seed, total_steps, report, settings):
    """Tells how it finds its process, then leaves it otherwise."""
    found = _surroundings()
    for step in range(1, total_steps + 1):
        report(step, loss=1 / step)
    match settings["what"]:
        case "alarm":
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)  # kills the process, as nobody handles it
            signal.alarm(1)
        case "handler":
            signal.signal(signal.SIGTERM, lambda *_: None)
            signal.signal(signal.SIGSEGV, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            signal.set_wakeup_fd(os.open(os.devnull, os.O_WRONLY | os.O_NONBLOCK))
        case "rest":
            os.umask(0o777)
            os.chdir("/")
            os.environ["LODESTAR_TEST"] = "1"
            os.environ.pop("PATH", None)
            os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
        case "streams":
            sys.stdout = sys.stderr = io.StringIO()
        case "late alarm":
            signal.signal(signal.SIGALRM, _too_late)
            signal.setitimer(signal.ITIMER_REAL, 1e-5 * (seed + 1), 1e-4)
        case "look":
            _spend(0.1)
    return found


def _surroundings():
    handlers = [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())]
    os.umask(mask := os.umask(0))
    signal.set_wakeup_fd(wakeup := signal.set_wakeup_fd(-1))
    return {
        "pid": os.getpid(),
        "alarm": signal.getitimer(signal.ITIMER_REAL)[0],
        "virtual": signal.getitimer(signal.ITIMER_VIRTUAL)[0],
        "handlers": " ".join(handlers),
        "mask": str(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "umask": mask,
        "wakeup": wakeup,
        "folder": str(Path.cwd()),
        "environment": str(sorted(os.environ.items())),
        "cores": str(os.sched_getaffinity(0)),
        "ignores a fault": Path("/proc/self/status").read_text().split("SigIgn:")[1].split()[0],
    }


def _too_late(*_):
    raise TimeoutError("too late")


def _spend(seconds):
    """Of the processor's time, which a virtual timer counts."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def _keep_reporting(report):
    """From a thread that does not know when to stop."""
    for step in range(1, 10_000):
        report(step % 30 + 1, loss=1.0)


def fails_once(*, schedule, report, settings):
    """Fails until a file is there."""
    if not Path(settings["cure"]).exists():
        raise RuntimeError("not yet")
    report(1, loss=1.0)


def own_rate(*, seed, total_steps, report):
    """Sets its own learning rate."""
    for step in range(1, total_steps + 1):
        report(step, loss=1.0, lr=0.5)


def wants_more(*, schedule, report, model):
    """Cannot be called by a sweep."""


def deaf(*, seed, total_steps):
    """Never could report."""


def no_rate(*, report, seed):
    """Ignores the schedule."""


async def later(*, schedule, report):
    """No plain function."""


def with_length(*, schedule, report, total_steps=37):
    """Knows its own length."""


NOT_A_FUNCTION = 3


def sized(*, schedule, seed, total_steps, report, size, batch_size=0):
    """Says what it was given."""
    for step in range(1, total_steps + 1):
        report(step, loss=1 / step, metric=float(size))
    return {"got_size": size, "got_batch": batch_size}


def unsized(*, schedule, seed, total_steps, report, settings):
    """Knows of no sizes: must never be called by a sweep over them."""
    raise AssertionError("a trial ran")
