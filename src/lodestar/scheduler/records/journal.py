"""The journal: decisions and warnings of one run, kept in memory and appended to the log.

Comes in: decisions, sentences. Goes out: `Entries`, plain data that the scheduler's state holds, and lines of the log
once the run is under way (a scheduler that is built only to load a checkpoint leaves no trace of its own beginning).
Writing never raises.
"""

import dataclasses
import logging
from typing import Any

from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.listener import Listener
from lodestar.scheduler.records.log import LogWriter

logger = logging.getLogger("lodestar.scheduler")


@dataclasses.dataclass
class Entries:
    """What happened so far, in order; of each kind of warning the first."""

    decisions: list[Decision] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    warned: set[str] = dataclasses.field(default_factory=set)


class Journal:
    """Adds to the entries of a run, and tells the log and the listeners."""

    def __init__(self, entries: Entries, writer: LogWriter | None, header: dict[str, Any]):
        self.entries = entries
        self.listeners: list[Listener] = []
        self._writer = writer
        self._waiting: list[dict[str, Any] | Decision] = [header]

    def decide(self, decision: Decision) -> None:
        """Keep a decision."""
        self.entries.decisions.append(decision)
        self._waiting.append(decision)

    def observe(self, step: int, loss: float | None, metric: float | None, lr: float) -> None:
        """Tell the listeners what was measured."""
        for listener in self.listeners:
            if problem := listener.observed(step, loss, metric, lr):
                self.warn("listener", problem, step)

    def warn(self, kind: str, text: str, step: int) -> None:
        """Keep a warning, once of each kind."""
        if kind in self.entries.warned:
            return
        self.entries.warned.add(kind)
        self.entries.warnings.append(text)
        self._waiting.append({"kind": "warning", "step": step, "text": text})
        logger.warning("%s", text)

    def resume(self, entries: Entries, header: dict[str, Any]) -> None:
        """Go on after `entries`, which an earlier job has logged."""
        self.entries = entries
        self._waiting = [header]

    def flush(self) -> None:
        """Write what waits. A log that cannot be written is a warning, no more."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        self._tell(waiting)
        if self._writer is None:
            return
        for record in waiting:
            line = {"kind": "decision", **record.to_dict()} if isinstance(record, Decision) else record
            problem = self._writer.append(line)
            if problem:
                self.warn("log", problem, 0)
                self._waiting = []
                return

    def _tell(self, records: list[dict[str, Any] | Decision]) -> None:
        for listener in self.listeners:
            for record in records:
                if isinstance(record, Decision) and (problem := listener.decided(record)):
                    self.warn("listener", problem, record.step)
