"""How long the rest of a table will take: from the seconds of the runs made so far.

Comes in: a plan, results, how many trials run at once. Goes out: seconds, or None while no run was made. A learning by
training takes as long as the runs it may make; a fit as long as earlier ones, or a minute before the first. Rough on
purpose: what a method costs beyond its updates is not known beforehand.
"""

import math
import statistics

from lodestar_bench.plan import TablePlan
from lodestar_bench.results import LEARN, Results

FIT_SECONDS = 60.0  # a fit at cpu scale on one core, until one was timed


def seconds_left(plan: TablePlan, results: Results, slots: int) -> float | None:
    """Seconds on the wall."""
    runs, learnings = plan.left(results)
    if not runs and not learnings:
        return 0.0
    each = run_seconds(results)
    if math.isnan(each):
        return None
    return (runs * each + _learning(plan, results, each)) / max(1, slots)


def run_seconds(results: Results) -> float:
    """How long a run takes, compiling left out: the median so far; NaN before the first."""
    seconds = [r.own_seconds for r in results.records.values() if r.stage != LEARN and math.isfinite(r.seconds)]
    return statistics.median(seconds) if seconds else math.nan


def _learning(plan: TablePlan, results: Results, each: float) -> float:
    known = [r.seconds for r in results.records.values() if r.stage == LEARN and not r.training_runs]
    fit = statistics.median(known) if known else FIT_SECONDS
    total = 0.0
    for entrant in plan.entrants:
        if entrant.learns == "nothing":
            continue
        piece = plan.learning(entrant, results)
        if piece is None or not results.ended(piece.name):
            total += plan.budget * each if entrant.learns == "by training" else fit
    return total


def in_words(seconds: float) -> str:
    """Rounded as people say it: 40 s, 12 min, 1 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
