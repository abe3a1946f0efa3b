"""Learns in a thread of its own: no trial waits for a fit.

Comes in: a way to get the runs that have ended. Goes out: a `Pruner` that knows ever more of them. A fit begins when
there are a fifth more runs than the last one had, and takes at most `share` of the time, so that short trials on few
cores are not slowed down.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from lodestar.pruning.pruner import Pruner
from lodestar.runs.run import Run

GROWTH = 1.2
log = logging.getLogger(__name__)


class Background:
    """`look` is cheap and returns at once; whoever wants the newest fit calls `wait`."""

    def __init__(self, pruner: Pruner, *, share: float = 0.1):
        self.pruner, self._share = pruner, share
        self._thread: threading.Thread | None = None
        self._known, self._began, self._took = 0, 0.0, 0.0

    def look(self, count: int, runs: Callable[[], Sequence[Run]]) -> None:
        """Begin a fit if `count` finished runs are enough more; `runs` is called in the thread."""
        busy = self._thread is not None and self._thread.is_alive()
        if busy or count < self.pruner.startup or count < self._known * GROWTH or count == self._known:
            return
        if self._known and time.monotonic() - self._began < self._took / self._share:
            return
        self._known, self._began = count, time.monotonic()
        self._thread = threading.Thread(target=self._learn, args=(runs,), name="lodestar-learn", daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Until the fit that runs now, if any, has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _learn(self, runs: Callable[[], Sequence[Run]]) -> None:
        began = time.monotonic()
        try:
            self.pruner.learn(runs())
        except Exception as error:  # noqa: BLE001  a study goes on without us
            log.warning("no trial is stopped for now: learning from finished trials failed (%r)", error)
        self._took = time.monotonic() - began
