"""A store's folder on any fsspec address: s3://, gs://, az://, memory://, sftp://, ...

Object stores put an object whole or not at all, so a write is one put; other file systems get a temporary name and a
rename. There are no locks, so nothing here relies on any: names are unique, files never change, and a folder is looked
at until two looks agree, since a long listing is no snapshot.
"""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

from lodestar import _disk
from lodestar._credentials import cleaned, safe_cause, stripped
from lodestar._errors import MissingExtra, StoreError
from lodestar._extras import install_line, need
from lodestar.runs.folder import AbstractFolder

_PUT_IS_WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "tos", "memory", "hf", "lakefs"}
_LOOKS = 20


class RemoteFolder(AbstractFolder):
    """A folder of objects, or of files on another machine."""

    def __init__(self, address: str, system: Any, root: str):
        self.address = stripped(address).rstrip("/")
        self._given, self._system, self._root = address, system, root.rstrip("/")
        protocols = {system.protocol} if isinstance(system.protocol, str) else set(system.protocol)
        self._put_is_whole = bool(protocols & _PUT_IS_WHOLE)
        self._sizes: dict[str, int] = {}

    @classmethod
    def at(cls, address: str) -> "RemoteFolder":
        """The folder at an address. Says which package is missing, or that the protocol is unknown."""
        need("fsspec", "remote")
        from fsspec.core import url_to_fs
        from fsspec.registry import get_filesystem_class, known_implementations

        protocol = address.split("://")[0]
        if "::" in address:
            raise ValueError(
                f"a store's address must be a plain one, got the chain {stripped(address)!r}. Fix: its last part"
            )
        try:
            get_filesystem_class(protocol)
        except ImportError as error:
            package = known_implementations[protocol]["class"].split(".")[0]
            more = f" {package}" if package != "fsspec" else ""
            raise MissingExtra(
                f"{protocol}:// addresses need another package ({error}). Fix: {install_line('remote')}{more}"
            ) from error
        except ValueError as error:
            raise StoreError(
                f"{stripped(address)}: there is no protocol {protocol!r}. Fix: use s3://, gs://, az://, file:// or "
                "another that fsspec knows, or a plain path"
            ) from error
        with _told(f"cannot open {stripped(address)}", address):
            system, root = url_to_fs(address)
        return cls(address, system, root)

    def place(self, name: str) -> str:
        return f"{self.address}/{name}"

    def exists(self) -> bool:
        """Whether anything lies there. (A folder without files is no folder on an object store.)"""
        with self._read():
            return bool(self._look())

    def has(self, name: str) -> bool:
        self._system.invalidate_cache()
        with self._read():
            return self._system.isfile(self._path(name))

    def names(self) -> list[str]:
        """What two looks in a row agree on: a merge during the first shows in the second."""
        with self._read():
            found = self._look()
            for _ in range(_LOOKS):
                before, found = found, self._look()
                if found.keys() == before.keys():
                    self._sizes = found
                    return list(found)
        raise StoreError(f"the store at {self.address} changes faster than it can be listed. Fix: try again")

    def read(self, name: str) -> bytes:
        with self._read():
            return self._system.cat_file(self._path(name))

    def ends(self, sizes: Mapping[str, int]) -> dict[str, bytes]:
        if not sizes:
            return {}
        with self._read():
            lengths = {name: self._length(name) for name in sizes}
            wanted = [name for name in sizes if lengths[name]]
            starts = [max(lengths[name] - sizes[name], 0) for name in wanted]
            paths, stops = [self._path(name) for name in wanted], [lengths[name] for name in wanted]
            parts = self._system.cat_ranges(paths, starts, stops, on_error="return")
            for part in parts:
                if isinstance(part, BaseException):
                    raise part
        return dict.fromkeys(sizes, b"") | dict(zip(wanted, parts, strict=True))

    def make(self) -> None:
        """Object stores need no folders; others do. A bucket is never made here: it has an owner and costs money."""
        if not self._put_is_whole:
            with self._wrote():
                self._system.makedirs(self._root, exist_ok=True)

    def write(self, name: str, data: bytes | memoryview) -> None:
        with self._wrote():
            if self._put_is_whole:
                self._system.pipe_file(self._path(name), bytes(data))
                return
            partial = self._path(f"{_disk.PARTIAL}{os.getpid()}-{secrets.token_hex(4)}")
            self._system.pipe_file(partial, bytes(data))
            self._system.mv(partial, self._path(name))

    def delete(self, name: str) -> None:
        with self._wrote(), contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._path(name))

    def drop_abandoned(self, seconds: float) -> None:
        if self._put_is_whole:
            return
        for name in [name for name in self.names() if name.startswith(_disk.PARTIAL)]:
            with contextlib.suppress(Exception):
                if time.time() - self._system.modified(self._path(name)).timestamp() > seconds:
                    self._system.rm_file(self._path(name))

    def merging(self) -> contextlib.AbstractContextManager[None]:
        """No lock: two merges at once are wasteful, and do no harm (see `RunStore.compact`)."""
        return contextlib.nullcontext()

    def deleting(self) -> contextlib.AbstractContextManager[None]:
        """No lock: a reader whose file is gone looks again."""
        return contextlib.nullcontext()

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _look(self) -> dict[str, int]:
        """Names and sizes, as one listing tells them."""
        self._system.invalidate_cache()
        try:
            listed = self._system.ls(self._root, detail=True)
        except FileNotFoundError:
            return {}
        found = {str(entry["name"]).rstrip("/"): int(entry.get("size") or 0) for entry in listed}
        root = self._root.lstrip("/")
        return {path.rsplit("/", 1)[-1]: size for path, size in found.items() if path.strip("/") != root.strip("/")}

    def _length(self, name: str) -> int:
        if name not in self._sizes:
            self._sizes[name] = int(self._system.size(self._path(name)) or 0)
        return self._sizes[name]

    def _read(self) -> contextlib.AbstractContextManager[None]:
        return _told(f"cannot read the store at {self.address}", self._given)

    @contextlib.contextmanager
    def _wrote(self) -> Iterator[None]:
        doing = f"cannot write to {self.address}"
        try:
            with _told(doing, self._given):
                yield
        except FileNotFoundError as error:
            raise StoreError(
                f"{doing}: there is no such bucket or folder ({_first_line(error, self._given)}). Fix: make the "
                "bucket, or check its name; what was stored before is untouched"
            ) from safe_cause(error, self._given)


@contextlib.contextmanager
def _told(doing: str, address: str) -> Iterator[None]:
    """Whatever the address's package raises, in a sentence. A file that is not there is for the caller."""
    try:
        yield
    except (FileNotFoundError, StoreError):
        raise
    except PermissionError as error:
        raise StoreError(
            f"{doing}: you have no permission ({_first_line(error, address)}). Fix: check your credentials, and that "
            "they may list, read, write and delete there"
        ) from safe_cause(error, address)
    except NotImplementedError:
        raise StoreError(f"{doing}: this kind of address cannot do that. Fix: use s3://, gs:// or a path") from None
    except Exception as error:  # noqa: BLE001  each package has its own
        raise StoreError(
            f"{doing}: {_first_line(error, address)}. Fix: check the address, your credentials and the network, then "
            "try again"
        ) from safe_cause(error, address)


def _first_line(error: BaseException, address: str) -> str:
    text = cleaned(error, address).strip().splitlines()
    return (text[0].rstrip(".") if text else "") or type(error).__name__
