"""A worker and everything it started share a session, and are ended together."""

import contextlib
import os
import signal
from pathlib import Path


def end_session(leader: int) -> None:
    """Kill every process of the session that `leader` leads, the leader last. The leader must not be reaped yet."""
    for pid in _members(leader):
        if pid not in (leader, os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _members(leader: int) -> list[int]:
    members = []
    for entry in Path("/proc").iterdir() if Path("/proc/self").exists() else ():
        if entry.name.isdigit():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(entry.name)) == leader:
                    members.append(int(entry.name))
    return members
