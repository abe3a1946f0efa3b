"""Stores runs, and logs them to a tracker if asked, each in a thread of its own: no worker waits for disk or server.

A run counts as done once it is stored. An error in storing stops the sweep; a tracker that fails is dropped.
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
        self._store = store
        self._logged = None if write is None else _Line("log", lambda runs: _log_all(runs, write))
        self._stored = _Line("store", self._store_all)

    def keep(self, run: Run) -> None:
        """Hand a run over; raises what went wrong with an earlier one."""
        self.check()
        self._stored.put(run)

    def check(self) -> None:
        if self._stored.error is not None:
            raise self._stored.error

    def close(self) -> None:
        self._stored.close()
        if self._logged is not None:
            self._logged.close()
        self.check()

    def _store_all(self, runs: list[Run]) -> None:
        self._store.add_many(runs)
        for run in runs:
            if self._logged is not None:
                self._logged.put(run)


class _Line:
    """A thread that takes what has come in since it last looked; an error ends it."""

    def __init__(self, name: str, work: Callable[[list[Run]], None]):
        self.error: BaseException | None = None
        self._work = work
        self._waiting: queue.SimpleQueue[Run | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=f"lodestar-{name}", daemon=True)
        self._thread.start()

    def put(self, run: Run) -> None:
        self._waiting.put(run)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        batch: list[Run | None] = []
        try:
            while None not in batch:
                batch = [self._waiting.get()]
                while not self._waiting.empty():
                    batch.append(self._waiting.get())
                self._work([run for run in batch if run is not None])
        except BaseException as error:  # noqa: BLE001  whoever puts or closes asks for it
            self.error = error


def _log_all(runs: list[Run], write: Callable[[Run], None]) -> None:
    for run in runs:
        try:
            write(run)
        except Exception as error:
            log.warning(
                "logging to the tracker failed and is given up: %s. The runs are in the store all the same", error
            )
            raise  # ends the thread: nothing more is logged
