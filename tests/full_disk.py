"""Full disks: a real one, small, for root; and one for a single process, where no file may grow beyond some bytes."""

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def full_disk(longest: int = 4096) -> Iterator[None]:
    """Within the block, a write that makes a file longer than `longest` bytes fails, after what fits.

    Files in which pytest catches what is printed are files too: leave them some room.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (longest, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "256k") -> Iterator[bool]:
    """A file system of its own at `folder`, in memory; whether there is one, which takes root."""
    folder.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    mounted = subprocess.run(words, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Within the block, no room is left on a `small_disk`."""
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
    finally:
        filler.unlink()
