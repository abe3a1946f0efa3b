"""Which value of its grid a method is judged with: the one with the best mean validation metric over the tuning seeds.

Comes in: the values, the names of the tuning runs of each, and the results. Goes out: a `Choice`, or None while a run
is missing. A run that diverged or failed counts as the floor, never as absent. Knows nothing of methods.
"""

import dataclasses
import math
from collections.abc import Sequence

from lodestar.runs import Direction
from lodestar_bench.results import Results


@dataclasses.dataclass(frozen=True)
class Choice:
    """The value, its mean validation metric, and how many tuning runs (of all values) diverged and failed."""

    value: float
    validation: float
    diverged: int
    failed: int


def choose(values: Sequence[float], runs: Sequence[tuple[float, str]], results: Results) -> Choice | None:
    """`runs` are pairs of value and name. Of equal values, the first in the grid is taken."""
    if not all(results.ended(name) for _, name in runs) or not any(name in results.records for _, name in runs):
        return None
    means = {value: _mean([name for of, name in runs if of == value], results) for value in values}
    sign = 1.0 if results.direction is Direction.MAX else -1.0
    best = max(values, key=lambda value: -math.inf if math.isnan(means[value]) else sign * means[value])
    found = results.of(name for _, name in runs)
    diverged = sum(not record.complete for record in found)
    return Choice(best, means[best], diverged, len(runs) - len(found))


def _mean(names: Sequence[str], results: Results) -> float:
    figures = [
        results.validation(results.records[name]) if name in results.records else results.floor for name in names
    ]
    return sum(figures) / len(figures)
