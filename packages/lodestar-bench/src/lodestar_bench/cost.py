"""What each method's place in the table cost: runs and seconds of tuning, of learning, of the final runs, all told.

Comes in: a plan and its results. Goes out: a `Cost` for each method. A method that learns from runs is charged for
every one of them, as if nobody else had used them. Seconds are those of one core, by a run's own clock: waiting in a
queue does not count, nor does compiling, which the first run of a kind does for all others (a learning's own does).
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Sequence

from lodestar_bench.entrant import Entrant
from lodestar_bench.plan import TablePlan, records_of
from lodestar_bench.results import Record, Results


@dataclasses.dataclass(frozen=True)
class Cost:
    """Runs and seconds by stage. `epoch_seconds` is the median over final runs; `own_share` the method's part of it."""

    tuning_runs: int
    tuning_seconds: float
    learning_runs: int
    learning_seconds: float
    final_runs: int
    final_seconds: float
    epoch_seconds: float
    own_share: float

    @property
    def runs(self) -> int:
        """All training runs made for it."""
        return self.tuning_runs + self.learning_runs + self.final_runs

    @property
    def seconds(self) -> float:
        """All seconds spent on it."""
        return self.tuning_seconds + self.learning_seconds + self.final_seconds


def cost(plan: TablePlan, entrant: Entrant, results: Results) -> Cost:
    """What this method used so far."""
    tuning = records_of(plan.tuning(entrant), results)
    learning: list[Record] = []
    if entrant.learns == "from runs":
        tuning = records_of(plan.sources(entrant.form), results)
    if entrant.learns != "nothing":
        piece = plan.learning(entrant, results)
        learning = records_of([piece] if piece else [], results)
    finals = records_of(plan.finals(entrant, results), results)
    return Cost(
        tuning_runs=len(tuning),
        tuning_seconds=_sum(record.own_seconds for record in tuning),
        learning_runs=round(_sum(record.training_runs for record in learning)),
        learning_seconds=_sum(record.seconds for record in learning),
        final_runs=len(finals),
        final_seconds=_sum(record.own_seconds for record in finals),
        epoch_seconds=_median([record.training_seconds / record.epochs for record in finals if record.epochs > 0]),
        own_share=_median([record.control_seconds / record.training_seconds for record in finals]),
    )


def _sum(values: Iterable[float]) -> float:
    return math.fsum(value for value in values if math.isfinite(value))


def _median(values: Sequence[float]) -> float:
    return statistics.median([value for value in values if math.isfinite(value)] or [math.nan])
