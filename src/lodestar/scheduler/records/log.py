"""The decision log: one JSON object a line, appended as the run goes, readable by a person and by `lodestar explain`.

The first line names the run and its settings. Comes in: records. Goes out: a file that outlives a kill: a half line at
the end is closed off by the next writer and skipped by readers. A job resumed from a checkpoint decides some windows
again; the later line counts. Writing never raises: a full disk must not stop a training job, so `append` says what went
wrong instead.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lodestar._errors import LodestarError
from lodestar._extras import update_line
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.outcome import Outcome

FORMAT = "lodestar-log"
VERSION = 1
_BEFORE = {Outcome.CUT: 0, Outcome.RESCALED: 1}  # what may come beside a window's own decision, and before it


@dataclasses.dataclass(frozen=True)
class Log:
    """A log read back: the last header, decisions in order, warnings, and how many lines could not be read."""

    header: dict[str, Any]
    decisions: list[Decision]
    warnings: list[str]
    skipped: int

    @property
    def run_name(self) -> str | None:
        """The run it is the log of; None in a log of release one, which does not say."""
        return self.header.get("run", {}).get("name")

    @property
    def facts(self) -> dict[str, Any]:
        """What the job told about its run."""
        return self.header.get("run", {}).get("facts", {})


class LogWriter:
    """Appends records to a file."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab"):
                pass
        except OSError as error:
            raise ValueError(
                f"log must be a file that can be written, got {self.path}: {error}. Fix: another path"
            ) from error

    def append(self, record: Mapping[str, Any]) -> str | None:
        """Add one line; returns what went wrong, if anything did."""
        try:
            with self.path.open("ab+") as stream:
                line = json.dumps(record, allow_nan=False, ensure_ascii=False).encode() + b"\n"
                stream.write(b"\n" + line if _half_line(stream) else line)
        except (OSError, ValueError) as error:
            return f"the log {self.path} could not be written: {error}"
        return None


def header(**facts: Any) -> dict[str, Any]:
    """The first line of a job's log."""
    return {"kind": "start", "format": FORMAT, "version": VERSION, **facts}


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read a log back, whatever a kill left of it."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise LodestarError(f"the log {path} cannot be read: {error}. Fix: pass the file given as log=...") from error
    records, skipped = _records(lines)
    heads = [record for record in records if record.get("format") == FORMAT]
    if not heads:
        raise LodestarError(f"{path} is not a Lodestar log. Fix: pass the file given as Scheduler(log=...)")
    newest = max(head["version"] for head in heads)
    if newest > VERSION:
        raise LodestarError(
            f"{path} has log version {newest}, this Lodestar reads up to {VERSION}. Fix: {update_line()}"
        )
    latest: dict[tuple[int, int, int], Decision] = {}
    for record in records:
        if record.get("kind") == "decision":
            decision = Decision.from_dict(record)
            latest[(decision.step, decision.window, _BEFORE.get(decision.outcome, len(_BEFORE)))] = decision
    warnings = list(dict.fromkeys(record["text"] for record in records if record.get("kind") == "warning"))
    return Log(heads[-1], [latest[key] for key in sorted(latest)], warnings, skipped)


def _records(lines: list[bytes]) -> tuple[list[dict[str, Any]], int]:
    records, skipped = [], 0
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            assert isinstance(record, dict)
            records.append(record)
        except (ValueError, AssertionError):
            skipped += 1
    return records, skipped


def _half_line(stream: Any) -> bool:
    """Whether a kill left a line without its end."""
    size = stream.seek(0, os.SEEK_END)
    if size == 0:
        return False
    stream.seek(size - 1)
    return stream.read(1) != b"\n"
