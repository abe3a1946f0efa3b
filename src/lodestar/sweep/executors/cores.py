"""Which cores this sweep's workers are pinned to, so that two sweeps on one machine do not sit on the same ones.

A core is claimed by a lock on a small file, freed when the process ends, however it ends.
"""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import IO

FOLDER = "lodestar-cores"


class Cores:
    """The cores claimed by this process."""

    def __init__(self):
        self._held: list[IO[bytes]] = []

    def claim(self, workers: int, threads: int) -> list[tuple[int, ...]]:
        """Cores for each worker; empty tuples (no pinning) if there are not enough free ones for all."""
        if not hasattr(os, "sched_getaffinity"):
            return [()] * workers
        wanted = workers * threads
        cores: list[int] = []
        for core in sorted(os.sched_getaffinity(0)):
            if len(cores) < wanted and self._take(core):
                cores.append(core)
        if len(cores) < wanted:
            self.free()
            return [()] * workers
        return [tuple(cores[i * threads : (i + 1) * threads]) for i in range(workers)]

    def free(self) -> None:
        while self._held:
            self._held.pop().close()

    def _take(self, core: int) -> bool:
        import fcntl

        folder = Path(tempfile.gettempdir()) / f"{FOLDER}-{os.getuid()}"
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            file = (folder / str(core)).open("ab")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                return False
            self._held.append(file)
        return True  # no place for the file: pin all the same


def cores_here() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
