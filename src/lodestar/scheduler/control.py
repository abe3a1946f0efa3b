"""The hand on the wheel, as the job sees it: looks whether a command waits beside the log.

Looks when a decision falls due, and in between once a second at most; a file that has not changed is not read. Comes
in: the step that is asked for. Goes out: commands to obey now. Nothing listens, and nothing here is written: the
decision that a command becomes is in the log. A job that goes on from a checkpoint obeys the commands that are on
record after it again, each after the step it was obeyed at, so that the same rates follow. Never raises.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence

from lodestar.scheduler.inputs import shown
from lodestar.scheduler.records.command import Command, control_path, read_waiting
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.journal import Journal

EVERY = 1.0  # seconds between two looks


class Control:
    """Reads the commands for the job that keeps `journal`."""

    def __init__(self, journal: Journal, warn: Callable[[str, str], object]):
        self._journal, self._warn = journal, warn
        self._next = 0.0
        self._seen: tuple[int, int, int] | None = None
        self._again: list[tuple[int, Command]] = []

    def repeat(self, decisions: Sequence[Decision]) -> None:
        """The job goes on from before these decisions."""
        self._again = [(decision.step, decision.command) for decision in decisions if decision.command is not None]
        self._seen, self._next = None, 0.0

    def ready(self, ended: bool) -> bool:
        """Whether there may be something to do; `ended`: a point of the grid has. Asked at every step."""
        return ended or bool(self._again) or time.monotonic() >= self._next

    def commands(self, step: int, due: bool, obeyed: Sequence[Decision]) -> Iterator[Command]:
        """What to obey before the rate of `step` is told; `due`: a decision is to be made."""
        while self._again and self._again[0][0] < step:
            yield self._again.pop(0)[1]
        if not self._again and (due or time.monotonic() >= self._next):
            self._next = time.monotonic() + EVERY
            command = self._waiting()
            if command is not None and all(d.command is None or d.command.id != command.id for d in obeyed):
                yield command

    def _waiting(self) -> Command | None:
        if self._journal.path is None:  # a copy of a scheduler, which keeps no log
            return None
        path = control_path(self._journal.path)
        try:
            found = os.stat(path)  # noqa: PTH116  a step of the job waits for it
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp == self._seen:
                return None
            self._seen = stamp
            waiting = read_waiting(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            kind = hashlib.sha256(str(error).encode()).hexdigest()[:8]
            self._warn(
                f"control {kind}",
                f"the command file {path} is damaged and was left alone: {shown(str(error))}. "
                "Fix: lodestar control LOG withdraw, then send the command again",
            )
            return None
        return waiting[1] if waiting is not None and waiting[0] == self._journal.job else None
