"""Learns in a thread of its own: no trial waits for a fit, nor for the place where runs are kept.

Comes in: a way to get the runs that have ended. Goes out: a `Pruner` that knows ever more of them. A fit is made when
there are a tenth more runs than the last one had, and fits take at most `share` of the time, so that short trials on
few cores are not slowed down.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from lodestar.pruning.pruner import Pruner
from lodestar.runs.run import Run

GROWTH = 1.1
log = logging.getLogger(__name__)


class Background:
    """`look` is cheap and returns at once; whoever wants the newest fit calls `wait`."""

    def __init__(self, pruner: Pruner, *, share: float = 0.1, every: float = 1.0):
        self.pruner, self._share, self._every = pruner, share, every
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._known, self._next = 0, 0.0

    def look(self, runs: Callable[[], Sequence[Run]]) -> None:
        """Have `runs` called in the thread, and a fit made if there are enough more, unless it works already."""
        with self._lock:
            if time.monotonic() < self._next or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._learn, args=(runs,), name="lodestar-learn", daemon=True)
            self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Until what the thread does now, if anything, is done."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _learn(self, runs: Callable[[], Sequence[Run]]) -> None:
        began = time.monotonic()
        try:
            ended = runs()
            if len(ended) > self._known and len(ended) >= self._known * GROWTH:
                self.pruner.learn(ended)
                self._known = len(ended)
        except Exception as error:  # noqa: BLE001  a study goes on without us
            log.warning("no trial is stopped for now: learning from finished trials failed (%r)", error)
        self._next = time.monotonic() + max(self._every, (time.monotonic() - began) / self._share)
