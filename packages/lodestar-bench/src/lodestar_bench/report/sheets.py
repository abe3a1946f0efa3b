"""The report's data as CSV: every final run, every tuning run, the table, the rates that are drawn, every record.

Comes in: a `Story`. Goes out: the bytes of each file by name. Full precision, a line for each run, so that anyone can
compute the table anew, or add a method of their own to it (`--published`).
"""

import csv
import io
from collections.abc import Iterable, Sequence

from lodestar_bench import published
from lodestar_bench.plan import records_of
from lodestar_bench.report.story import Story
from lodestar_bench.results import Record
from lodestar_bench.table import TableRow

RUN = ("method", "setting", "seed", "status", "counted_as", "test", "test_at_end", "validation", "epochs", "seconds")
TABLE = (
    "method", "setting", "count", "mean", "std", "worst", "other", "welch_t", "welch_df", "welch_p", "paired_mean",
    "paired_lower", "paired_upper", "paired_p", "better_on", "diverged_tuning", "diverged_final", "failed",
    "tuning_runs", "tuning_seconds", "learning_runs", "learning_seconds", "final_runs", "final_seconds",
    "epoch_seconds", "own_share", "end_mean", "end_std",
)  # fmt: skip


def sheets(story: Story) -> dict[str, bytes]:
    """All files."""
    results = story.results
    finals = [_run(r, results.test(r)) for records in story.finals.values() for r in records]
    tuning = [
        _run(r, results.validation(r))
        for entrant in dict.fromkeys((*story.plan.entrants, *story.plan.shapes))
        for r in records_of(story.plan.tuning(entrant), results)
    ]
    rates = [
        (curve.method, curve.seed, int(step), float(rate))
        for curve in story.rates
        for step, rate in zip(curve.steps, curve.rates, strict=True)
    ]
    return {
        "finals.csv": _file(RUN, finals),
        "tuning.csv": _file(RUN, tuning),
        "table.csv": _file(TABLE, map(_row, story.table.rows)),
        "rates.csv": _file(("method", "seed", "step", "lr"), rates),
        **published.files(_about(story), results.records.values()),
    }


def _about(story: Story) -> published.About:
    facts = story.facts
    return published.About(facts.task, facts.scale, facts.fixed, (*story.elsewhere, *story.diary))


def _run(record: Record, counted: float) -> tuple[object, ...]:
    return (
        record.method,
        record.setting,
        record.seed,
        record.status,
        _short(counted),
        _short(record.test),
        _short(record.last_test),
        _short(record.validation),
        _short(record.epochs),
        round(record.seconds, 3),
    )


def _row(row: TableRow) -> tuple[object, ...]:
    found, test, pairs, cost = row.finals, row.welch, row.paired, row.cost
    return (
        row.entrant.name, row.setting, found.count, found.mean, found.std, row.worst, row.other or "", test.t,
        test.freedom, test.p, pairs.mean, pairs.lower, pairs.upper, pairs.p, pairs.above, row.diverged_tuning,
        row.diverged, row.failed, cost.tuning_runs, cost.tuning_seconds, cost.learning_runs, cost.learning_seconds,
        cost.final_runs, cost.final_seconds, cost.epoch_seconds, cost.own_share,
        row.ends.mean, row.ends.std,
    )  # fmt: skip


def _file(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(["" if cell != cell else cell for cell in row] for row in rows)
    return text.getvalue().encode()


def _short(value: float) -> float:
    """Nine digits: more than a 32-bit metric has."""
    return float(f"{value:.9g}")
