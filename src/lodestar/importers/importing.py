"""Runs from a tracker into a store: list, map, fetch what is new, store as they come.

Comes in: a tracker, a store, the user's choices. Goes out: the store with the runs, and an `ImportReport`. Run it again
and only runs that are new or have changed are fetched. A kill loses the last seconds of work, never the store. Knows no
tracker by name.
"""

import fnmatch
import time
from collections.abc import Callable, Iterator, Sequence

from lodestar._errors import RunError, TrackerError
from lodestar.importers.building import build, without_loss
from lodestar.importers.fetching import fetch_all
from lodestar.importers.ledger import Ledger, identity
from lodestar.importers.mapping import Choices, Mapped, map_runs
from lodestar.importers.plan import Plan, plan
from lodestar.importers.tables.table import ImportReport
from lodestar.importers.tracker import AbstractTracker, Listed
from lodestar.runs import Run, RunStore

Progress = Callable[[int, int, str], None]
"""Called with (runs done, runs in all, what is being done); the total is 0 while it is not known."""
_FLUSH_SECONDS = 5.0
_FLUSH_VALUES = 600_000


class TrackerImport:
    """Runs that have been listed and mapped, and not yet fetched: `mapped` can be shown before anything is stored."""

    def __init__(
        self,
        tracker: AbstractTracker,
        choices: Choices | None = None,
        *,
        name: str | None = None,
        limit: int | None = None,
        on_progress: Progress | None = None,
    ):
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be a number of runs of at least 1, got {limit}")
        self.tracker = tracker
        self._tell = on_progress or (lambda done, total, what: None)
        self.runs = self._listed(name, limit)
        self.mapped: Mapped = map_runs(
            [run for run in self.runs if not run.trouble] or self.runs,
            choices or Choices(),
            tracker,
        )
        self.report = ImportReport(self.mapped.guess)

    def look(self, store: RunStore) -> int:
        """How many runs `store` would fetch; the report says which are there already, and which are left out."""
        return len(self._todo(Ledger(store, identity(self.tracker))))

    def store(self, store: RunStore, on_progress: Progress | None = None) -> ImportReport:
        """Fetch what is new and store it."""
        self._tell = on_progress or self._tell
        ledger = Ledger(store, identity(self.tracker))
        todo = self._todo(ledger)
        before = {run.key for run in self.runs if ledger.stored(run)}
        store = RunStore.create(store.address)
        try:
            for batch in _batches(self._built(todo, ledger)):
                store.add_many(run for _, run in batch)
                self.report.imported += [run.name for _, run in batch]
                self.report.replaced += [run.name for key, run in batch if key in before]
                self.report.notes += [(run.name, note) for _, run in batch for note in run.notes]
        finally:
            ledger.save()
        return self.report

    def _listed(self, name: str | None, limit: int | None) -> list[Listed]:
        found: list[Listed] = []
        seen = 0
        for run in self.tracker.list():
            seen += 1
            if name is None or fnmatch.fnmatchcase(run.name, name):
                found.append(run)
            self._tell(0, 0, f"listing: {seen:,} runs")
            if limit is not None and len(found) >= limit:
                break
        if not found and seen:
            raise TrackerError(
                f"none of the {seen} runs in {self.tracker.address} is called {name!r}. Fix: check --name"
            )
        if not found:
            raise TrackerError(f"{self.tracker.address} holds no runs. Fix: check the address")
        return found

    def _todo(self, ledger: Ledger) -> list[Plan]:
        """Plans for the runs to fetch; the others go into the report at once."""
        todo: list[Plan] = []
        for run in self.runs:
            planned = plan(run, self.mapped)
            reason = run.trouble or ledger.left_out(run, planned.stamp)
            if reason:
                self.report.left_out.append((run.name, reason))
            elif "loss" not in planned.quantities:
                self.report.left_out.append((run.name, without_loss(planned)))
            elif ledger.is_current(run, planned.stamp):
                self.report.unchanged.append(ledger.name(run))
            else:
                todo.append(planned)
        return todo

    def _built(self, todo: Sequence[Plan], ledger: Ledger) -> Iterator[tuple[str, Run]]:
        """Each run with its key, as they arrive."""
        who, source = identity(self.tracker), f"{self.tracker.kind} {self.tracker.address}"
        for done, (planned, answer) in enumerate(fetch_all(self.tracker, todo), start=1):
            self._tell(len(self.runs) - len(todo) + done, len(self.runs), "fetching")
            if isinstance(answer, RunError):
                self._leave_out(planned, ledger, str(answer))
                continue
            try:
                name = ledger.name(planned.run)
                run = build(planned, name, answer, identity=who, source=source, clock=self.tracker.clock)
            except RunError as error:
                self._leave_out(planned, ledger, str(error))
                continue
            yield planned.run.key, run

    def _leave_out(self, planned: Plan, ledger: Ledger, reason: str) -> None:
        self.report.left_out.append((planned.run.name, reason))
        ledger.remember_left_out(planned.run, planned.stamp, reason)


def import_runs(
    tracker: AbstractTracker,
    store: RunStore,
    mapping: Choices | None = None,
    *,
    name: str | None = None,
    limit: int | None = None,
    on_progress: Progress | None = None,
) -> ImportReport:
    """Bring a tracker's runs into a store; only what is new or changed is fetched. `name` may hold * and ?."""
    return TrackerImport(tracker, mapping, name=name, limit=limit, on_progress=on_progress).store(store)


def _batches(runs: Iterator[tuple[str, Run]]) -> Iterator[list[tuple[str, Run]]]:
    """Runs in groups to store: some seconds' or some megabytes' worth. What came before an error is handed on first."""
    batch: list[tuple[str, Run]] = []
    values, began = 0, time.monotonic()
    try:
        for key, run in runs:
            batch.append((key, run))
            values += len(run.loss) + len(run.metric) + len(run.lr)
            if values >= _FLUSH_VALUES or time.monotonic() - began >= _FLUSH_SECONDS:
                full, batch, values, began = batch, [], 0, time.monotonic()
                yield full
    except (Exception, KeyboardInterrupt):
        if batch:
            yield batch
        raise
    if batch:
        yield batch
