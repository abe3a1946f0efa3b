"""What a trial prints, C code and child processes included, in a file that keeps its beginning and its end."""

import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import IO

from lodestar._disk import open_own

HEAD, TAIL, MOST = 100_000, 100_000, 400_000


class CappedLog:
    """Standard output and errors of this process, led to one file after another."""

    def __init__(self):
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._left_out = 0

    def lead_to(self, path: Path) -> None:
        """From now on, what is printed goes to `path`, which is begun anew."""
        _flush()
        with self._lock:
            if path.is_symlink():  # the log is begun anew: what the link leads to is not ours to write
                path.unlink()
            target = open_own(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            for stream in (1, 2):
                os.dup2(target, stream)
            if target > 2:  # the last trial may have closed one of them
                os.close(target)
            self._path, self._left_out = path, 0
        sys.stdout, sys.stderr = _stream(1), _stream(2)

    def trim(self) -> None:
        """Cut the middle out of a file that grew too large."""
        with self._lock, contextlib.suppress(OSError):
            if self._path is None or self._path.stat().st_size <= MOST:
                return
            with os.fdopen(open_own(self._path, os.O_RDWR), "r+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(size - TAIL)
                tail = file.read(TAIL)
                self._left_out += size - HEAD - TAIL
                file.truncate(HEAD)
            with os.fdopen(open_own(self._path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:
                file.write(b"\n[... %d bytes left out ...]\n" % self._left_out + tail)

    def write(self, text: str) -> None:
        _flush()
        os.write(2, text.encode(errors="backslashreplace"))

    def finish(self) -> None:
        """Flush and trim; a file in which nothing stands is removed."""
        _flush()
        self.trim()
        with contextlib.suppress(OSError):
            if self._path is not None and self._path.stat().st_size == 0:
                self._path.unlink()


def end_of(path: Path, most: int = 4000) -> str:
    """The last part of a file as text; empty if there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - most, 0))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


def _stream(descriptor: int) -> IO[str]:
    """A fresh stream for each trial: the last one may have closed or replaced it. Each line is written at once."""
    return open(descriptor, "w", buffering=1, errors="backslashreplace", closefd=False)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the function may have closed or replaced it
            stream.flush()
