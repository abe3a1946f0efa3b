"""All that a report tells, as plain data: read from a bench's home once, before anything is worded or drawn.

Comes in: a home. Goes out: a `Story`: the table, each final run, the rates of a few seeds of Lodestar beside those of
the best plain schedule, the diary. The only part of the report that reads files.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.schedules import SHAPES
from lodestar_bench import published
from lodestar_bench.diary import DiaryEntry, entries
from lodestar_bench.home import BenchFacts, Home
from lodestar_bench.plan import TablePlan, records_of
from lodestar_bench.results import Record, Results
from lodestar_bench.table import Table1, table

SHOWN_SEEDS = 5
OURS = ("lodestar-tune-steered", "lodestar", "lodestar-plain", "lodestar-paper")


@dataclasses.dataclass(frozen=True)
class Rates:
    """The learning rate of one run."""

    method: str
    seed: int
    steps: NDArray[np.int64]
    rates: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Story:
    """Everything a report needs."""

    facts: BenchFacts
    plan: TablePlan
    results: Results
    table: Table1
    finals: dict[str, list[Record]]
    rates: tuple[Rates, ...]
    diary: tuple[DiaryEntry, ...]
    elsewhere: tuple[DiaryEntry, ...] = ()
    """The diary of published results that were taken over."""
    taken_over: frozenset[str] = frozenset()
    """The records that came with them."""

    @property
    def runs_made(self) -> int:
        """Training runs in the table, learnings not counted."""
        return sum(record.stage != "learn" for record in self.results.records.values())

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be made."""
        return self.plan.left(self.results) == (0, 0)


def story(home: Home) -> Story:
    """Read a home."""
    facts = home.facts()
    plan, results = facts.plan, home.results(facts, to_tell=True)
    found = table(plan, results)
    finals = {entrant.name: records_of(plan.finals(entrant, results), results) for entrant in plan.entrants}
    shown = [name for name in (_ours(found), _best_plain(found)) if name]
    here = {one.name for store in (home.runs, home.learnings) if store.exists() for one in store.list()}
    steps = int(facts.fixed.get("total_steps", 0))
    others = published.read_about(home.published).diary if home.published.is_dir() else ()
    return Story(
        facts,
        plan,
        results,
        found,
        finals,
        _rates(home, finals, shown, here, steps),
        tuple(entries(home.path / "diary")),
        others,
        frozenset(results.records) - here,
    )


def _ours(found: Table1) -> str | None:
    there = [row.entrant.name for row in found.rows if row.finals.count]
    return next((name for name in OURS if name in there), None)


def _best_plain(found: Table1) -> str | None:
    return next((row.entrant.name for row in found.rows if row.entrant.name in SHAPES and row.finals.count), None)


def _rates(
    home: Home, finals: dict[str, list[Record]], shown: Sequence[str], here: set[str], steps: int
) -> tuple[Rates, ...]:
    """Of runs made here as they were logged; of a plain shape's published runs, without curves, as it is drawn."""
    wanted = {
        record.name: record
        for method in shown
        for record in sorted(finals[method], key=lambda record: record.seed)[:SHOWN_SEEDS]
    }
    logged = {run.name: run.lr for run in home.runs.read(wanted.keys() & here)} if wanted.keys() & here else {}
    found = []
    for name, record in wanted.items():
        if name in logged:
            found.append(Rates(record.method, record.seed, logged[name].steps, logged[name].values))
        elif record.method in SHAPES:
            drawn = SHAPES[record.method](float(record.setting), steps).rates
            found.append(Rates(record.method, record.seed, np.arange(1, steps + 1), drawn))
    return tuple(found)
