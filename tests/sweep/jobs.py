"""Training functions for the sweep's tests: good ones, and every kind of bad one."""

import ctypes
import os
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
            threading.Thread(target=_keep_reporting, args=(report,), daemon=True).start()
        case "scribble":
            for link in Path("/proc/self/fd").iterdir():
                if link.is_symlink() and "socket" in str(link.readlink()):
                    os.write(int(link.name), b"\0\0\0\5hello")
        case "hang":
            time.sleep(3600)
    lost = what == "diverge"
    for step in range(1, total_steps + 1):
        report(step, loss=float("nan") if lost and step > 5 else 1 / step, metric=step)
    return {"nan": float("nan"), "folder": str(Path.cwd())} if what != "return" else float("nan")


def _keep_reporting(report):
    """From a thread that does not know when to stop."""
    for step in range(1, 100_000):
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
