"""The decision log: one JSON object a line, appended as the run goes, readable by a person and by `lodestar explain`.

The first line of a job names the run, its settings and the job. Comes in: records. Goes out: a file that outlives a
kill: a half line at the end is closed off by the next writer and skipped by readers. A job resumed from a checkpoint
decides some windows again; the later line counts. A file may hold several jobs, one after the other. Version 2 has
commands among the decisions, and with each decision the plan to the end.

Writing never raises: a full disk must not stop a training job, so `append` says what went wrong instead. A file that
was renamed, emptied or deleted, or that a full disk kept from being written, gets the job's header and all its
decisions again as soon as it can be written; a file to which another job writes is left to that one.
"""

import dataclasses
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar import _disk
from lodestar._credentials import cleaned, safe_cause
from lodestar._errors import LodestarError
from lodestar._extras import update_line
from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.outcome import Outcome

FORMAT = "lodestar-log"
VERSION = 2
_BEFORE = {Outcome.CUT: 0, Outcome.RESCALED: 1}  # what may come beside a window's own decision, and before it
_BY_HAND = -1  # and before that
_HEADER_TYPES = {"run": dict, "settings": dict, "total_steps": int, "metric": str, "mode": str, "direction": str}
_RUN_TYPES = {"name": str, "facts": dict}
_DEEPEST = 8  # JSON within JSON; ours is half of that

Record = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Log:
    """A job's log read back: its last header, decisions in order, warnings, and how many lines could not be read.

    The header is empty where the file has lost it. `jobs` is how many jobs have decided something in that file.
    """

    header: dict[str, Any]
    decisions: list[Decision]
    warnings: list[str]
    skipped: int
    jobs: int = 1
    summary: str | None = None  # the run's last line; None if nobody closed it: killed, under way, or of release one
    over: bool = False  # whether nothing came after that line

    @property
    def run_name(self) -> str | None:
        """The run it is the log of; None in a log of release one, which does not say."""
        return self.header.get("run", {}).get("name")

    @property
    def facts(self) -> dict[str, Any]:
        """What the job told about its run."""
        return self.header.get("run", {}).get("facts", {})


class LogWriter:
    """Appends one job's records to a file, whatever becomes of that file meanwhile."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._size: int | None = None  # of the file as we left it; None: what we have written is not all there
        try:
            _disk.make_folder(self.path.parent)
            with self.path.open("ab"):
                pass
        except OSError as error:
            if not _disk.is_full(error):
                text = f"log must be a file that can be written, got {self.path}: {error}. Fix: another path"
                raise ValueError(cleaned(text)) from safe_cause(error)

    def append(self, records: Sequence[Record], whole: Callable[[], list[Record]]) -> tuple[str, str] | None:
        """Add lines; where the file lacks what came before, those of `whole()`. Returns what went wrong, and its kind.

        After a failure (of the kind "log") the next call writes the whole; otherwise everything is written.
        """
        moved = None
        try:
            if self._size is not None and _length(self.path) > self._size:
                moved = self._moved()
            _disk.make_folder(self.path.parent)
            with self.path.open("ab+", buffering=0) as stream:
                size = stream.seek(0, os.SEEK_END)
                lines = _lines(records if size == self._size else whole())
                self._size = None  # until every byte is written
                self._size = _disk.append_whole(stream, size, b"\n" + lines if _half_line(stream, size) else lines)
        except (OSError, ValueError) as error:
            return "log", f"the log {self.path} could not be written, training goes on without it: {error}"
        return moved

    def forget(self) -> None:
        """The job goes on from a saved state: what of it is in the file has to be found out."""
        self._size = None

    def job_with(self, past: Sequence[Decision]) -> Log | None:
        """The last job in the file that made these decisions."""
        try:
            jobs = read_jobs(self.path)
        except LodestarError:
            return None
        return next((job for job in reversed(jobs) if all(decision in job.decisions for decision in past)), None)

    def _moved(self) -> tuple[str, str]:
        """Leave the file to the job that has written to it, and take the first free name beside it."""
        old, number = self.path, 2
        while True:
            self.path = old.with_name(f"{old.stem}-{number}{old.suffix}")
            try:
                with self.path.open("xb"):
                    break
            except FileExistsError:
                number += 1
        self._size = None
        text = f"another job writes to the log {old} as well: all decisions of this one are in {self.path}"
        return f"another job on {old}", f"{text}. Fix: give each job a log of its own"


def header(**facts: Any) -> dict[str, Any]:
    """The first line of a job's log."""
    return {"kind": "start", "format": FORMAT, "version": VERSION, "job": secrets.token_hex(4), **facts}


def read_log(path: str | os.PathLike[str], job: int | None = None) -> Log:
    """Read a log back, whatever a kill, a full disk or an editor left of it: what cannot be read is counted.

    Of several jobs in one file the last is read, or number `job` in the order of their last start, from 1.
    """
    jobs = read_jobs(path)
    if job is not None and not 1 <= job <= len(jobs):
        raise LodestarError(f"{path} holds {len(jobs)} job(s), number {job} is none of them. Fix: leave the number out")
    return jobs[-1 if job is None else job - 1]


def read_jobs(path: str | os.PathLike[str]) -> list[Log]:
    """Every job in a log that has decided more than how to begin; the last job in any case."""
    try:
        lines = _disk.read_whole(Path(path)).split(b"\n")
    except OSError as error:
        raise LodestarError(f"the log {path} cannot be read: {error}. Fix: pass the file given as log=...") from error
    jobs, skipped, newest = _jobs(lines)
    if newest > VERSION:
        raise LodestarError(
            f"{path} has log version {newest}, this Lodestar reads up to {VERSION}. Fix: {update_line()}"
        )
    if not jobs:
        raise LodestarError(f"{path} is not a Lodestar log. Fix: pass the file given as Scheduler(log=...)")
    kept = [job for job in jobs[:-1] if job.has_begun] + jobs[-1:]
    return [
        Log(job.header, job.in_order, list(job.warnings), skipped, len(kept), job.summary, job.over) for job in kept
    ]


@dataclasses.dataclass
class _Job:
    header: dict[str, Any] = dataclasses.field(default_factory=dict)
    decisions: dict[tuple[int, int, int, str], Decision] = dataclasses.field(default_factory=dict)
    warnings: dict[str, None] = dataclasses.field(default_factory=dict)
    summary: str | None = None
    over: bool = False

    @property
    def has_begun(self) -> bool:
        """Whether it decided anything after its start; a scheduler that was built to be resumed has not."""
        return any(step > 0 for step, *_ in self.decisions)

    @property
    def in_order(self) -> list[Decision]:
        return [self.decisions[key] for key in sorted(self.decisions)]

    def take(self, record: Record) -> None:
        """A decision or a warning; what is of a kind that this version does not know is passed over."""
        if record["kind"] == "decision":
            decision = Decision.from_dict(record)
            place, hand = _BEFORE.get(decision.outcome, len(_BEFORE)), ""
            if decision.command is not None:
                place, hand = _BY_HAND, f"{decision.command.at} {decision.command.id}"
            self.decisions[(decision.step, decision.window, place, hand)] = decision
            self.over = False
        elif record["kind"] in ("warning", "end"):
            if not isinstance(record["text"], str):
                raise ValueError("a warning and a summary must be texts")
            if record["kind"] == "end":
                self.summary, self.over = record["text"], True
            else:
                self.warnings[record["text"]] = None


def _jobs(lines: Iterable[bytes]) -> tuple[list[_Job], int, int]:
    """The jobs in the order of their last start, the lines that could not be read, the newest version met."""
    jobs, skipped, newest = list[_Job](), 0, 0
    for line in filter(bytes.strip, lines):
        try:
            record = _record(line)
            if record.get("format") == FORMAT:
                newest = max(newest, record["version"])
                jobs.append(_started(jobs, record))
            elif jobs or record["kind"] == "decision":  # a log that has lost its header may hold decisions all the same
                job = jobs[-1] if jobs else _Job()
                job.take(record)
                jobs[-1:] = [job]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            skipped += 1
    return jobs, skipped, newest


def _started(jobs: list[_Job], head: dict[str, Any]) -> _Job:
    """The job that a header starts or goes on with; taken out of `jobs`. In release one headers name no job."""
    known = [job for job in jobs if head.get("job") is not None and job.header.get("job") == head["job"]]
    if head.get("job") is None and "resumed_after" in head:
        known = [job for job in jobs if job.has_begun] or jobs
    job = known[-1] if known else _Job()
    jobs[:] = [other for other in jobs if other is not job]
    job.header, job.over = head, False
    return job


def _record(line: bytes) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict) or _depth(record) > _DEEPEST:
        raise ValueError("a line must be a plain object")
    return _head(record) if record.get("format") == FORMAT else record


def _head(record: dict[str, Any]) -> dict[str, Any]:
    """A header without what is not of its type."""
    if type(record["version"]) is not int:
        raise ValueError("a version must be a whole number")
    head = {key: value for key, value in record.items() if isinstance(value, _HEADER_TYPES.get(key, object))}
    if "run" in head:
        head["run"] = {
            key: value for key, value in head["run"].items() if isinstance(value, _RUN_TYPES.get(key, object))
        }
    return head


def _depth(value: object, so_far: int = 0) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return so_far if so_far > _DEEPEST else max((_depth(part, so_far + 1) for part in inner), default=so_far)


def _lines(records: Iterable[Record]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for record in records)


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _half_line(stream: Any, size: int) -> bool:
    """Whether a kill left a line without its end."""
    if size == 0:
        return False
    stream.seek(size - 1)
    return stream.read(1) != b"\n"
