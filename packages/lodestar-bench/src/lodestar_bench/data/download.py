"""Fetches files, checks them against published checksums, and leaves whole files or nothing.

Comes in: addresses with checksums and sizes. Goes out: files in a folder, or a sentence on what went wrong. Two
processes that want the same file wait for one another. What is in the files is not known here.
"""

import contextlib
import dataclasses
import hashlib
import http.client
import logging
import os
import secrets
import shutil
import time
import urllib.error
import urllib.request
from pathlib import Path

from lodestar._disk import PARTIAL, cannot_write, locked
from lodestar_bench._errors import BenchError

_LOG = logging.getLogger(__name__)
_PIECE = 1 << 20
_PATIENCE = 20.0  # seconds without a byte


@dataclasses.dataclass(frozen=True)
class Remote:
    """A file on the net; `digest` as "md5:..." or "sha256:...", as its publisher gives it."""

    url: str
    digest: str
    bytes: int

    @property
    def name(self) -> str:
        """Its file name."""
        return self.url.rsplit("/", 1)[-1]


def fetch(remotes: tuple[Remote, ...], folder: Path) -> str | None:
    """Fetch what is not there yet. A sentence if the net does not answer; `BenchError` if a file is not the one."""
    if os.environ.get("LODESTAR_OFFLINE"):
        return "LODESTAR_OFFLINE is set, so nothing is fetched"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock", exclusive=True):
            for remote in remotes:
                if not (folder / remote.name).exists():
                    _fetch(remote, folder)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        return f"fetching it failed ({getattr(error, 'reason', error)})"
    except OSError as error:
        raise BenchError(cannot_write(folder, error)) from error
    return None


def _fetch(remote: Remote, folder: Path) -> None:
    _room(remote, folder)
    partial = folder / f"{PARTIAL}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        found = _copy(remote, partial)
        if found != remote.digest:
            raise BenchError(
                f"{remote.url} is not the published file: its checksum is {found}, it should be {remote.digest}. "
                "Nothing was kept. Fix: try again; if it stays so, get the file elsewhere and put it into LODESTAR_DATA"
            )
        partial.replace(folder / remote.name)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _copy(remote: Remote, path: Path) -> str:
    """Write the file, and give its checksum."""
    kind = remote.digest.split(":")[0]
    digest, done, told = hashlib.new(kind, usedforsecurity=False), 0, time.monotonic()
    _LOG.info("fetching %s (%.0f MB)", remote.url, remote.bytes / 1e6)
    with urllib.request.urlopen(remote.url, timeout=_PATIENCE) as reply, path.open("xb") as file:
        while piece := reply.read(_PIECE):
            file.write(piece)
            digest.update(piece)
            done += len(piece)
            if time.monotonic() - told > 5:
                told = time.monotonic()
                _LOG.info("fetching %s: %.0f %%", remote.name, 100 * done / remote.bytes)
        file.flush()
        os.fsync(file.fileno())
    return f"{kind}:{digest.hexdigest()}"


def _room(remote: Remote, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < remote.bytes:
        raise BenchError(
            f"{folder} has {free / 1e6:.0f} MB free, {remote.name} needs {remote.bytes / 1e6:.0f} MB. "
            "Fix: free some space, or name another folder in LODESTAR_CACHE"
        )
