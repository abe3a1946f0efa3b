"""The journal: decisions and warnings of one run, kept in memory and appended to the log.

Comes in: decisions, sentences. Goes out: `Entries`, plain data that the scheduler's state holds, and lines of the log
once the run is under way (a scheduler that is built only to load a checkpoint leaves no trace of its own beginning).
Writing never raises.
"""

import dataclasses
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lodestar.scheduler.inputs import shown
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.listener import Listener
from lodestar.scheduler.records.log import Log, LogWriter
from lodestar.scheduler.records.points import PointsWriter

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
        self._points = PointsWriter()
        self._header, self._past = header, list[Decision]()
        self._waiting: list[dict[str, Any] | Decision] = [header]
        self._ended = ""

    @property
    def curious(self) -> bool:
        """Whether anybody wants to know what was measured."""
        return self._writer is not None or bool(self.listeners)

    @property
    def path(self) -> Path | None:
        """The log, which moves where another job writes to it."""
        return None if self._writer is None else self._writer.path

    @property
    def job(self) -> str | None:
        """What the log calls this job."""
        return self._header["job"]

    def __getstate__(self) -> dict[str, Any]:
        """For `copy.deepcopy` and pickle: log and listeners stay with the original, or both would write there."""
        if self._writer is None and not self.listeners:
            return self.__dict__
        text = "this is a copy of a scheduler: it writes no log and tells no listener. Fix: listen(...), or build one "
        text += "with log=... and load_state_dict(copy.state_dict())"
        return self.__dict__ | {"listeners": [], "_writer": None, "copied": text}

    def __setstate__(self, state: dict[str, Any]) -> None:
        text = state.pop("copied", None)
        self.__dict__.update(state)
        if text:
            self.warn("copy", text, 0)

    def know(self, facts: dict[str, Any]) -> None:
        """What is known of the run, for the head of its log; before the first line is written."""
        self._header["run"]["facts"] = facts

    def decide(self, decision: Decision) -> None:
        """Keep a decision."""
        self.entries.decisions.append(decision)
        self._waiting.append(decision)

    def observe(self, step: int, loss: float | None, metric: float | None, lr: float) -> None:
        """Tell the listeners what was measured, and keep it for those who watch."""
        if self._writer is not None and self._points.add(step, loss, metric, lr):
            self._write_points()
        for listener in self.listeners:
            self._tell_one(listener, "observed", step, step, loss, metric, lr)

    def warn(self, kind: str, text: str, step: int) -> bool:
        """Keep a warning, once of each kind; whether it is the first of its kind."""
        if kind in self.entries.warned:
            return False
        self.entries.warned.add(kind)
        self.entries.warnings.append(text)
        self._waiting.append({"kind": "warning", "step": step, "text": text})
        logger.warning("%s", text)
        return True

    def end(self, text: str, step: int) -> None:
        """Tell how the run went, unless that was told; written at once, since nothing may come after."""
        if text != self._ended:
            self._ended = text
            self._waiting.append({"kind": "end", "step": step, "text": text})
            logger.info("%s", text)
            self.flush()

    def resume(self, entries: Entries, header: dict[str, Any]) -> list[Decision]:
        """Go on after `entries`, which an earlier job has perhaps logged to this very file; what that one did after."""
        self.entries = entries
        self._header, self._past = header, list(entries.decisions)
        self._waiting = [header]
        self._points.begin(header["resumed_after"])
        if self._writer is not None:
            self._writer.forget()
        held = self._held()
        return [] if held is None else [decision for decision in held.decisions if decision not in self._past]

    def flush(self) -> None:
        """Write what waits. A log that cannot be written is a warning, no more."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        self._tell(waiting)
        if self._writer is None:
            return
        lines = [_line(record) for record in waiting]
        problem = self._writer.append(lines, lambda: self._whole(lines))
        self._write_points()
        if problem:
            self.warn(*problem, 0)
            if problem[0] == "log":
                self._waiting = []  # not at every step: the next decision tries again, with everything

    def _whole(self, lines: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
        """All there is to write, with `lines`; of a resumed job, what the file does not hold from before."""
        held = self._held()
        known = [] if held is None else held.decisions
        decisions = [_line(decision) for decision in self.entries.decisions if decision not in known]
        new = {line["text"]: line for line in lines if line["kind"] == "warning"}
        warnings = [new.get(text, {"kind": "warning", "text": text}) for text in self.entries.warnings]
        return [self._header, *decisions, *warnings]

    def _held(self) -> Log | None:
        """What the file holds of this job from before it was resumed; it goes on under the same name."""
        held = self._writer.job_with(self._past) if self._writer and self._past else None
        if held is not None:
            self._header["job"] = held.header.get("job")
        return held

    def _write_points(self) -> None:
        if self._writer is not None and (problem := self._points.flush(self._writer.path, self.job)):
            self.warn("points", problem, 0)

    def _tell(self, records: list[dict[str, Any] | Decision]) -> None:
        for listener in self.listeners:
            for record in records:
                if isinstance(record, Decision):
                    self._tell_one(listener, "decided", record.step, record)

    def _tell_one(self, listener: Listener, method: str, step: int, *what: Any) -> None:
        """A listener that raises must not end the job; it is told again next time."""
        try:
            problem = getattr(listener, method)(*what)
        except Exception as error:  # noqa: BLE001  the user's object
            problem = f"the listener {type(listener).__name__} failed in {method} at step {step}: {shown(error)}"
        if problem:
            self.warn("listener", str(problem), step)


def _line(record: dict[str, Any] | Decision) -> dict[str, Any]:
    return {"kind": "decision", **record.to_dict()} if isinstance(record, Decision) else record
