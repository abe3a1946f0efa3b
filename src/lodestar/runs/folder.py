"""What a run store needs of the place its files lie in; and that place on a disk.

On a disk a write is a rename, and locks keep a merge from deleting under a reader's eyes. The same on an fsspec address
(s3://, gs://, ...) is in `remote.py`.
"""

import abc
import contextlib
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from lodestar import _disk
from lodestar._credentials import cleaned

_ADDRESS = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.:\-]+)://")
_BROKEN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/(?!/)")  # one letter would be a Windows drive


class AbstractFolder(abc.ABC):
    """A flat folder of files that never change once written. `address` is how people name it, without credentials."""

    address: str

    @abc.abstractmethod
    def place(self, name: str) -> Path | str:
        """How people name a file in it."""

    @abc.abstractmethod
    def exists(self) -> bool:
        """Whether there is anything at the address."""

    @abc.abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is such a file."""

    @abc.abstractmethod
    def names(self) -> list[str]:
        """What is in it, in no order; nothing if there is no such folder."""

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """A file's bytes. `FileNotFoundError` if it is not there (any more)."""

    @abc.abstractmethod
    def ends(self, sizes: Mapping[str, int]) -> dict[str, bytes]:
        """The last so many bytes of each of these files (the whole, if it is shorter)."""

    @abc.abstractmethod
    def make(self) -> None:
        """Make it ready to be written to."""

    @abc.abstractmethod
    def write(self, name: str, data: bytes | memoryview) -> None:
        """A whole file, or a `StoreError` and nothing changed. When this returns, it will last."""

    @abc.abstractmethod
    def delete(self, name: str) -> None:
        """Delete a file; one that is gone already is fine."""

    @abc.abstractmethod
    def drop_abandoned(self, seconds: float) -> None:
        """Delete what killed writers left half-written longer ago than that."""

    @abc.abstractmethod
    def merging(self) -> contextlib.AbstractContextManager[None]:
        """Held while files are merged: one at a time, where the place has locks."""

    @abc.abstractmethod
    def deleting(self) -> contextlib.AbstractContextManager[None]:
        """Held while merged files are deleted: nobody looks meanwhile, where the place has locks."""


class LocalFolder(AbstractFolder):
    """A folder on a disk: writes are renames, locks are freed by a kill."""

    LOCKS = ("scan.lock", "compact.lock")

    def __init__(self, path: Path):
        self.path = path
        self.address = str(path)

    def place(self, name: str) -> Path:
        return self.path / name

    def exists(self) -> bool:
        return self.path.exists()

    def has(self, name: str) -> bool:
        try:
            return (self.path / name).is_file()
        except OSError:  # a folder we may not look into
            return False

    def names(self) -> list[str]:
        """What is in the folder. Shared lock: nobody deletes what was merged while we look."""
        with _disk.locked(self.path / "scan.lock", exclusive=False):
            try:
                with os.scandir(self.path) as entries:
                    return [entry.name for entry in entries]
            except FileNotFoundError:
                return []

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def ends(self, sizes: Mapping[str, int]) -> dict[str, bytes]:
        found = {}
        for name, size in sizes.items():
            with (self.path / name).open("rb") as file:
                length = file.seek(0, os.SEEK_END)
                file.seek(max(length - size, 0))
                found[name] = file.read(min(size, length))
        return found

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        for lock in self.LOCKS:
            os.close(_disk.open_own(self.path / lock, os.O_WRONLY | os.O_CREAT))

    def write(self, name: str, data: bytes | memoryview) -> None:
        _disk.write_whole(self.path / name, data)

    def delete(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def drop_abandoned(self, seconds: float) -> None:
        for path in self.path.glob(f"{_disk.PARTIAL}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > seconds:
                    path.unlink()

    def merging(self) -> contextlib.AbstractContextManager[None]:
        return _disk.locked(self.path / "compact.lock", exclusive=True)

    def deleting(self) -> contextlib.AbstractContextManager[None]:
        return _disk.locked(self.path / "scan.lock", exclusive=True)


def is_address(where: str | os.PathLike[str]) -> bool:
    """Whether that is an address such as s3://bucket/runs, rather than a path on this machine."""
    return isinstance(where, str) and _ADDRESS.match(where) is not None


def open_folder(where: str | os.PathLike[str]) -> AbstractFolder:
    """The folder at a path or an address. Nothing is read, made or connected yet."""
    if isinstance(where, str) and (found := _ADDRESS.match(where)):
        if found["protocol"].lower() in ("file", "local"):
            return LocalFolder(Path(where[found.end() :]))
        from lodestar.runs.remote import RemoteFolder

        return RemoteFolder.at(where)
    text = os.fspath(where)
    if not isinstance(where, str) and _BROKEN.match(text) and not Path(text).exists():
        raise ValueError(
            f"the store's path must be a path or an address, got {cleaned(text)!r}, an address that was turned into "
            "a Path and so lost a slash. Fix: pass the address as text, RunStore('s3://bucket/runs')"
        )
    return LocalFolder(Path(where))
