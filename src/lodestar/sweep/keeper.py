"""Stores runs, and logs them to a tracker if asked, in a thread of its own: no worker waits for a disk or a server.

Comes in: runs as they end. Goes out: runs in the store, several in one file where they come quickly; a run counts as
done only then. An error in storing stops the sweep; an error of a tracker is told once, and the tracker set aside.
"""

import logging
import queue
import threading
from collections.abc import Callable

from lodestar.runs import Run, RunStore

log = logging.getLogger(__name__)


class Keeper:
    """A store with a thread before it. `write` is the tracker, if any: called with each stored run."""

    def __init__(self, store: RunStore, write: Callable[[Run], None] | None = None):
        self._store, self._write = store, write
        self._waiting: queue.SimpleQueue[Run | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="lodestar-keeper", daemon=True)
        self._thread.start()

    def keep(self, run: Run) -> None:
        """Hand a run over; raises what went wrong with an earlier one."""
        self.check()
        self._waiting.put(run)

    def check(self) -> None:
        """Raise what went wrong, if anything."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Wait until all is stored."""
        self._waiting.put(None)
        self._thread.join()
        self.check()

    def _work(self) -> None:
        more = True
        while more:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            more = None not in batch
            runs = [run for run in batch if run is not None]
            try:
                self._store.add_many(runs)
            except BaseException as error:  # noqa: BLE001  it is raised again where the sweep runs
                self._error = error
                return
            for run in runs:
                self._log(run)

    def _log(self, run: Run) -> None:
        if self._write is None:
            return
        try:
            self._write(run)
        except Exception as error:  # noqa: BLE001  a tracker must never stop a sweep
            self._write = None
            log.warning(
                "logging to the tracker failed and is given up: %s. The runs are in the store all the same", error
            )
