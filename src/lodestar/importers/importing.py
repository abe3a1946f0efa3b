"""Runs from a reader into a store: list, map, fetch what is new, build, store as they come, report.

Comes in: a reader, a store, the user's choices. Goes out: the store with the runs, and an `ImportReport`. Run it again
and only runs that are new or have changed are fetched. A kill loses the last seconds of work, never the store. Knows no
reader by name.
"""

import fnmatch
import time
from collections.abc import Callable, Iterator, Sequence

from lodestar._errors import RunError
from lodestar.importers.building import build, without_loss
from lodestar.importers.choices import Choices
from lodestar.importers.fetching import fetch_all
from lodestar.importers.ledger import Ledger
from lodestar.importers.mapping import Mapped, map_header, map_runs
from lodestar.importers.plan import FetchPlan, plan
from lodestar.importers.reader import AbstractHeadedReader, AbstractReader, ListedRun, about_one_run
from lodestar.importers.report import ImportReport
from lodestar.importers.scale_guess import check_facts, guess_scale
from lodestar.runs.run import Run
from lodestar.runs.store import RunStore

Progress = Callable[[int, int, str], None]
"""Called with (runs done, runs in all, what is being done); the total is 0 while it is not known."""
_FLUSH_SECONDS = 5.0
_FLUSH_VALUES = 600_000


class RunImport:
    """Runs that have been listed and mapped, and not yet fetched: `mapped` can be shown before anything is stored."""

    def __init__(
        self,
        reader: AbstractReader,
        choices: Choices | None = None,
        *,
        name: str | None = None,
        limit: int | None = None,
        on_progress: Progress | None = None,
    ):
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be a number of runs of at least 1, got {limit}")
        self.reader = reader
        self._on_progress = on_progress or (lambda done, total, what: None)
        choices = choices or Choices()
        header = None
        if isinstance(reader, AbstractHeadedReader):
            header, reader.on_rows = reader.guess(choices), reader.on_rows or self._rows_read
        self.runs = self._listed(name, limit)
        sound = [run for run in self.runs if not run.trouble] or self.runs
        self.mapped: Mapped = map_header(header, sound, choices) if header else map_runs(sound, choices, reader)
        check_facts(sound, choices, reader)
        self.report = ImportReport(self.mapped.guess, guess_scale(sound, choices))

    def look(self, store: RunStore) -> int:
        """How many runs `store` would fetch; the report says which are there already, and which are left out."""
        return len(self._todo(Ledger(store, self.reader)))

    def store(self, store: RunStore, on_progress: Progress | None = None) -> ImportReport:
        """Fetch what is new and store it."""
        self._on_progress = on_progress or self._on_progress
        ledger = Ledger(store, self.reader)
        todo = self._todo(ledger)
        before = {run.key for run in self.runs if ledger.stored(run)}
        store.make()
        try:
            for batch in _batches(self._built(todo, ledger)):
                stored = self._added(store, batch)
                self._tell_imported(stored)
                self.report.replaced += [run.name for key, run in stored if key in before]
        finally:
            ledger.save()
        return self.report

    def read(self) -> Iterator[Run]:
        """Fetch all runs, into no store; the report fills as they come."""
        ledger = Ledger(None, self.reader)
        for key, run in self._built(self._todo(ledger), ledger):
            self._tell_imported([(key, run)])
            yield run

    def _listed(self, name: str | None, limit: int | None) -> list[ListedRun]:
        runs: list[ListedRun] = []
        seen = 0
        for run in map(ListedRun.cleaned, self.reader.list()):
            seen += 1
            if name is None or fnmatch.fnmatchcase(run.name, name):
                runs.append(run)
            self._on_progress(0, 0, f"listing: {seen:,} runs")
            if limit is not None and len(runs) >= limit:
                break
        if not runs and seen:
            raise self.reader.error(
                f"none of the {seen} runs in {self.reader.address} is called {name!r}. Fix: check --name"
            )
        if not runs:
            raise self.reader.error(f"{self.reader.address} holds no runs. Fix: check the address")
        return runs

    def _todo(self, ledger: Ledger) -> list[FetchPlan]:
        """Plans for the runs to fetch; the others go into the report at once."""
        todo: list[FetchPlan] = []
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

    def _built(self, todo: Sequence[FetchPlan], ledger: Ledger) -> Iterator[tuple[str, Run]]:
        """Each run with its key, as they arrive."""
        for done, (planned, answer) in enumerate(fetch_all(self.reader, todo), start=1):
            self._on_progress(len(self.runs) - len(todo) + done, len(self.runs), "fetching")
            try:
                if isinstance(answer, RunError):
                    raise answer
                with about_one_run():
                    run = build(planned, ledger.name(planned.run), answer, self.reader)
            except RunError as error:
                self.report.left_out.append((planned.run.name, str(error)))
                ledger.remember_left_out(planned.run, planned.stamp, str(error))
            else:
                yield planned.run.key, run
        if isinstance(self.reader, AbstractHeadedReader):
            self.report.notes += self.reader.oddities

    def _added(self, store: RunStore, batch: Sequence[tuple[str, Run]]) -> Sequence[tuple[str, Run]]:
        """Store a batch; of one that holds a run no store can take, that run is left out with the reason."""
        try:
            with about_one_run():
                store.add_many(run for _, run in batch)
        except RunError as error:
            if len(batch) > 1:
                return [pair for each in batch for pair in self._added(store, [each])]
            self.report.left_out.append((batch[0][1].name, str(error)))
            return []
        return batch

    def _rows_read(self, file: int, files: int, rows: int) -> None:
        self._on_progress(0, len(self.runs), f"file {file + 1} of {files}, {rows:,} rows")

    def _tell_imported(self, batch: Sequence[tuple[str, Run]]) -> None:
        self.report.imported += [run.name for _, run in batch]
        self.report.notes += [(run.name, note) for _, run in batch for note in run.notes]


def import_runs(
    reader: AbstractReader,
    store: RunStore,
    mapping: Choices | None = None,
    *,
    name: str | None = None,
    limit: int | None = None,
    on_progress: Progress | None = None,
) -> ImportReport:
    """Bring a reader's runs into a store; only what is new or changed is fetched. `name` may hold * and ?."""
    return RunImport(reader, mapping, name=name, limit=limit, on_progress=on_progress).store(store)


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
