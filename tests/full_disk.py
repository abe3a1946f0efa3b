"""A disk that is full, for one process: no file may grow beyond some bytes (`RLIMIT_FSIZE`), and room comes back."""

import contextlib
import resource
from collections.abc import Iterator


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
