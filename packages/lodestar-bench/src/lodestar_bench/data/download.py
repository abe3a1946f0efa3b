"""Fetches files, checks them against published checksums, and leaves whole files or nothing. By pooch.

Comes in: addresses with checksums and sizes. Goes out: files in a folder, or a sentence on what went wrong. Two
processes that want the same file wait for one another. What is in the files is not known here.
"""

import dataclasses
import os
import shutil
import sys
from pathlib import Path

from lodestar._disk import cannot_write, locked
from lodestar_bench._errors import BenchError

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
    from requests import RequestException

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock", exclusive=True):
            for remote in remotes:
                if not (folder / remote.name).exists():
                    _fetch(remote, folder)
    except RequestException as error:
        return f"fetching it failed ({error if error.response is None else error.response.reason})"
    except OSError as error:
        raise BenchError(cannot_write(folder, error)) from error
    return None


def _fetch(remote: Remote, folder: Path) -> None:
    import pooch

    _room(remote, folder)
    shown = sys.stderr.isatty()
    downloader = pooch.HTTPDownloader(progressbar=shown, chunk_size=1 << 20, timeout=_PATIENCE)
    try:
        pooch.retrieve(remote.url, remote.digest, fname=remote.name, path=folder, downloader=downloader)  # pyright: ignore[reportArgumentType]
    except ValueError as error:  # pooch's word for a checksum that differs
        raise BenchError(
            f"{remote.url} is not the published file: {error} Nothing was kept. Fix: try again; if it stays so, get "
            "the file elsewhere and put it into LODESTAR_DATA"
        ) from error


def _room(remote: Remote, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < remote.bytes:
        raise BenchError(
            f"{folder} has {free / 1e6:.0f} MB free, {remote.name} needs {remote.bytes / 1e6:.0f} MB. "
            "Fix: free some space, or name another folder in LODESTAR_CACHE"
        )
