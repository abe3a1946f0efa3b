"""Item 6: what an epoch costs with each kind of method, and what was spent before the first steered run.

Comes in: a bench's home. Goes out: seconds an epoch takes with plain schedules, hypergradient descent, schedule-free,
the RL controllers, and Lodestar with windows of 10, 5 and 2.5 % and 20 and 40 samples (each timed anew, in turns, five
times); the cost of the sweep, the fit and the controllers' training (as the bench recorded them). Evaluations of the
metric are left out, as every method has the same.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lodestar.runs import Scalar
from lodestar.sweep import Done, Failed, Job, Trial
from lodestar_bench._errors import BenchError
from lodestar_bench.paper import draw_cost
from lodestar_bench.paper.context import OURS, ItemContext
from lodestar_bench.paper.cost_trial import FUNCTION
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.tell_cost import words
from lodestar_bench.results import Record
from lodestar_bench.statistics import spread

if TYPE_CHECKING:
    from lodestar.report.html import Block

WINDOWS, SAMPLES, TRIALS = (0.1, 0.05, 0.025), (20, 40), 5
PLAIN = "parametric"
TIMED = {PLAIN: "constant", "hypergradient": "hypergradient", "schedule-free": "schedule-free"}
"""Kinds whose updates are timed, and the method that makes them."""
LEARNERS = ("rl-xu", "rl-graph")
EPOCH = ("kind", "window", "samples", "trials", "update_seconds", "own_seconds", "seconds", "std", "wall_seconds")


class CostItem(AbstractItem):
    """Seconds an epoch, and seconds beforehand."""

    name = "cost"
    title = "6. Cost: an epoch, and what comes before"
    needs = "Lodestar's forecaster, final runs; times some updates anew (a minute)"

    def make(self, context: ItemContext) -> Findings:
        """Time, then add up what the bench recorded."""
        trials = list(_trials(context))
        timed = _timed(context, trials)
        return Findings(
            (
                Sheet.of("epoch", EPOCH, _epochs(context, timed)),
                Sheet.of("timings", ("kind", "trial", "cpu_seconds", "wall_seconds"), timed),
                Sheet.of(
                    "beforehand",
                    ("method", "runs", "run_seconds", "learning_runs", "learning_seconds", "one_run_seconds"),
                    _beforehand(context),
                ),
            ),
            seeds=tuple(range(TRIALS)),
            notes=("timed in one process of one thread, all kinds in turns; seconds are the processor's",),
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """Bars."""
        return draw_cost.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """Beside the paper's table."""
        return words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """The same to hover over."""
        return draw_cost.charts(made)


def steered(window: float, samples: int) -> str:
    """The name of a way to steer."""
    return f"lodestar {100 * window:g} % {samples}"


def _trials(context: ItemContext) -> Iterator[Trial]:
    """All kinds once, then all of them again: what else the machine does falls on all alike."""
    task: dict[str, Scalar] = {"task": context.spec, "scale": context.facts.scale}
    there = {entrant.name: entrant for entrant in context.plan.entrants}
    run = context.finals(context.ours())[0].name
    tape: dict[str, Scalar] = {
        "knowledge": str(context.knowledge(context.ours()).resolve()),
        "store": str(context.home.runs.path.resolve()),
        "run": run,
    }
    for trial in range(TRIALS):
        for kind, method in TIMED.items():
            if method in there:
                value = _value(context, method)
                yield Trial(f"{kind}/{trial}", trial, 1, settings={**task, "method": method, "value": value})
        for window in WINDOWS:
            for samples in SAMPLES:
                how: dict[str, Scalar] = {"window": window, "samples": samples}
                yield Trial(f"{steered(window, samples)}/{trial}", trial, 1, settings={**task, **tape, **how})


def _value(context: ItemContext, method: str) -> float:
    """What the method was judged with."""
    choice = context.plan.choice(context.entrant(method), context.results)
    if choice is None or not math.isfinite(choice.value):
        raise context.missing(f"the tuning of {method!r} is not finished")
    return choice.value


def _timed(context: ItemContext, trials: Sequence[Trial]) -> list[tuple[str, int, float, float]]:
    """Kind, trial, seconds of the processor, seconds of the clock."""
    job = Job(FUNCTION, metric_name=context.facts.metric_name, direction=str(context.facts.direction))
    rows = []
    with context.place(jobs=1) as place:
        for event in place.run(job, trials):
            if isinstance(event, Failed):
                raise BenchError(
                    f"timing {event.trial.name} failed: {event.reason}. Fix: see the log in {context.scratch / 'logs'}"
                )
            if isinstance(event, Done):
                kind, _, number = event.trial.name.rpartition("/")
                found = event.run.facts.extra
                rows.append((kind, int(number), _figure(found["epoch_cpu_seconds"]), _figure(found["epoch_seconds"])))
                context.tell(len(rows), len(trials), f"timing {kind}")
    return rows


def _figure(value: Scalar) -> float:
    return float(value)


def _epochs(context: ItemContext, timed: Sequence[tuple[str, int, float, float]]) -> list[tuple[object, ...]]:
    """Updates and own work of each kind. A controller's own work is its share in the bench's runs of it."""
    seconds = {kind: [row[2] for row in timed if row[0] == kind] for kind in dict.fromkeys(row[0] for row in timed)}
    walls = {kind: statistics.mean(row[3] for row in timed if row[0] == kind) for kind in seconds}
    plain = spread(seconds[PLAIN])
    rows: list[tuple[object, ...]] = []
    for window in WINDOWS:
        for samples in SAMPLES:
            kind = steered(window, samples)
            own = spread(seconds[kind])
            both, off = plain.mean + own.mean, math.hypot(plain.std, own.std)
            wall = walls[PLAIN] + walls[kind]
            rows.append(("lodestar", 100 * window, samples, own.count, plain.mean, own.mean, both, off, wall))
    for kind in TIMED:
        if kind in seconds:
            found = spread(seconds[kind])
            rows.append((kind, 0.0, 0, found.count, found.mean, 0.0, found.mean, found.std, walls[kind]))
    for method in LEARNERS:
        shares = _shares(context, method)
        if shares:
            own, off = plain.mean * statistics.median(shares), plain.mean * _middle_spread(shares)
            rows.append((method, 0.0, 0, len(shares), plain.mean, own, plain.mean + own, off, math.nan))
    return rows


def _shares(context: ItemContext, method: str) -> list[float]:
    """The method's own work over its updates, for each final run; none where it took no part."""
    if method not in {entrant.name for entrant in context.plan.entrants}:
        return []
    found = context.finals(method)
    return [one.control_seconds / one.train_seconds for one in found if one.complete and one.train_seconds > 0]


def _middle_spread(values: Sequence[float]) -> float:
    """A standard deviation from the quartiles: a run that had to wait for the machine does not count."""
    if len(values) < 4:
        return math.nan
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 1.349


def _beforehand(context: ItemContext) -> list[tuple[object, ...]]:
    """Runs and seconds each method had spent when its first final run began."""
    rows = []
    for row in context.table.rows:
        cost = row.cost
        if cost.final_runs and (row.entrant.name in (*OURS, *LEARNERS) or row.entrant.learns == "nothing"):
            one = statistics.median(_own(context.finals(row.entrant.name)))
            rows.append(
                (
                    row.entrant.name,
                    cost.tuning_runs,
                    cost.tuning_seconds,
                    cost.learning_runs,
                    cost.learning_seconds,
                    one,
                )
            )
    return rows


def _own(records: Sequence[Record]) -> list[float]:
    return [record.own_seconds for record in records if math.isfinite(record.own_seconds)] or [math.nan]


ITEM = CostItem()
