"""The sweep's journal: which sweep this is, and how its trials ended. A file beside the store, lines only appended.

Which trials are done, the store itself knows. The first line holds the format's version and the sweep's identity; a
half line after a kill is cut off. A lock keeps two sweeps out of one store.
"""

import contextlib
import dataclasses
import json
import os
import socket
from collections.abc import Iterator, Mapping
from hashlib import blake2s
from pathlib import Path
from typing import IO, Any

from lodestar import _disk
from lodestar._credentials import stripped
from lodestar._errors import StoreError, SweepError
from lodestar._extras import update_line
from lodestar.sweep.events import Done, Failed

FORMAT, VERSION = "lodestar-sweep", 1


def folder_beside(store: str | Path) -> Path:
    """The folder for journal, lock and logs of the sweeps into `store`; for a remote store, in the current folder."""
    text = stripped(str(store)).rstrip("/")
    local = Path(text.rsplit("/", 1)[-1]) if "://" in text else Path(text)
    return local.with_name(f"{local.name}.trials")


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """The lock on `folder` for one sweep at a time; a `SweepError` if another has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.fdopen(_disk.open_own(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_APPEND), "a+")
    except OSError as error:
        raise StoreError(_disk.cannot_write(folder, error)) from error
    with file:
        if not _taken(file):
            file.seek(0)
            raise SweepError(
                f"another sweep writes into this store now ({file.read().strip() or 'its lock is held'}). Fix: wait "
                "for it, or choose another --out"
            )
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield  # closing the file frees the lock


@dataclasses.dataclass(frozen=True)
class Past:
    """What the journal tells of earlier calls: failed trials with their reasons, and seconds a trial took."""

    failed: Mapping[str, str]
    seconds: tuple[float, ...]


class SweepJournal:
    """One sweep's journal, open for appending. The folder's lock must be held."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]):
        plain = json.dumps(dict(identity), sort_keys=True, default=str)
        self.path = folder / f"sweep-{blake2s(plain.encode()).hexdigest()[:8]}.jsonl"
        self._identity = json.loads(plain)
        self._file: IO[bytes] | None = None

    def others(self) -> list[dict[str, Any]]:
        others = (path for path in sorted(self.path.parent.glob("sweep-*.jsonl")) if path != self.path)
        return [_header(path)["identity"] for path in others]

    def check_alone(self) -> None:
        """Refuse to mix: another sweep's runs are in this store."""
        others = self.others()
        if others and not self.path.exists():
            differs = [
                f"{key} was {_short(others[-1].get(key))} and is now {_short(self._identity.get(key))}"
                for key in sorted({*self._identity, *others[-1]})
                if others[-1].get(key) != self._identity.get(key)
            ]
            raise SweepError(
                f"this store holds another sweep ({'; '.join(differs)}). Fix: give the same settings to go on with it, "
                "choose another --out, or put both into this store with --add"
            )

    def open(self) -> Past:
        """Read what is there, cut a half line off, and open for appending."""
        try:
            if not self.path.exists():
                header = {"format": FORMAT, "version": VERSION, "identity": self._identity}
                _disk.replace_file(self.path, json.dumps(header).encode() + b"\n")
            whole = self.path.read_bytes()
            whole = whole[: whole.rfind(b"\n") + 1]
            _header(self.path)
            self._file = self.path.open("r+b")
            self._file.truncate(len(whole))
            self._file.seek(len(whole))
        except OSError as error:
            raise StoreError(_disk.cannot_write(self.path.parent, error)) from error
        return _past(whole)

    def add(self, event: Done | Failed) -> None:
        """Write how a trial ended; a failure is on the disk when this returns."""
        line: dict[str, Any] = {"trial": event.trial.name, "seconds": round(event.seconds, 3)}
        if isinstance(event, Failed):
            line |= {"ended": "failed", "kind": event.kind, "reason": event.reason, "detail": event.detail[-2000:]}
        else:
            line |= {"ended": event.run.status.value}
        try:
            assert self._file is not None
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            if isinstance(event, Failed):
                os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(_disk.cannot_write(self.path.parent, error)) from error

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        first = file.readline()
    try:
        header = json.loads(first)
        version = int(header["version"]) if header["format"] == FORMAT else 0
    except (ValueError, KeyError, TypeError):
        header, version = {}, 0
    if version < 1 or "identity" not in header:
        raise SweepError(
            f"{path} is no journal of a sweep, or is damaged. Fix: move it away; the runs are in the store"
        )
    if version > VERSION:
        raise SweepError(
            f"{path} was written by a newer Lodestar (version {version}; this one reads {VERSION}). "
            f"Fix: {update_line()}"
        )
    return header


def _past(data: bytes) -> Past:
    failed: dict[str, str] = {}
    seconds: list[float] = []
    for line in data.splitlines()[1:]:
        try:
            entry = json.loads(line)
            name, ended = entry["trial"], entry["ended"]
        except (ValueError, KeyError, TypeError):
            continue  # power loss may leave a line of zeros: that trial is in the store or runs again
        failed.pop(name, None)
        if ended == "failed":
            failed[name] = entry.get("reason", "")
        else:
            seconds.append(float(entry.get("seconds", 0.0)))
    return Past(failed, tuple(seconds))


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _taken(file: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover  (Windows: no second sweep is looked for)
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
