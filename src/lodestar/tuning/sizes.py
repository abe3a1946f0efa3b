"""Tuning over sizes: which size is tried next, what its runs cost, and what the full job is.

Comes in: the sizes that the training function is given, and the runs so far. Goes out: the size of each next trial.
The largest is the full job, which the plan is for. Each size gets the same share of the work, so that a small one gets
more runs.
"""

import dataclasses
import math
from collections.abc import Sequence

from lodestar.forecaster.scale_law import QUANTITIES
from lodestar.runs import Run
from lodestar.runs.scale import Scale, scale_of


@dataclasses.dataclass(frozen=True)
class Sizes:
    """None, or some; without any every run is a full one."""

    values: tuple[float, ...] = ()

    @property
    def full(self) -> float | None:
        return max(self.values, default=None)

    def share(self, size: float | None, runs: Sequence[Run] = ()) -> float:
        """The work of a run of that size, in full runs: by the parameters that runs state, else by the size itself."""
        if size is None or self.full is None:
            return 1.0
        known = {_size(run): scale_of(run).parameters for run in runs}
        part, whole = known.get(size), known.get(self.full)
        return size / self.full if part is None or whole is None else min(part / whole, 1.0)

    def spent(self, runs: Sequence[Run]) -> float:
        """The work of runs, in full runs; one that was stopped counts for the part it ran."""
        return sum(self.share(_size(run) if self.values else None, runs) * _part(run) for run in runs)

    def next(self, runs: Sequence[Run], count: int, left: float) -> list[float | None]:
        """The sizes of up to `count` trials within `left` full runs, and half a run more: where least was spent yet."""
        if not self.values:
            return [None] * max(1, min(count, round(left)))
        shares = {size: self.share(size, runs) for size in self.values}
        spent = {size: sum(shares[size] * _part(run) for run in runs if _size(run) == size) for size in self.values}
        found: list[float | None] = []
        while len(found) < count and (within := [size for size in self.values if shares[size] / 2 <= left]):
            size = min(within, key=lambda size: (round(spent[size], 9), size))
            spent[size] += shares[size]
            left -= shares[size]
            found.append(size)
        return found

    def least(self, runs: Sequence[Run]) -> float:
        """The work of a run of the smallest size."""
        return min((self.share(size, runs) for size in self.values), default=1.0)

    def of_full(self, runs: Sequence[Run]) -> list[Run]:
        """The runs of the full job."""
        return [run for run in runs if not self.values or _size(run) == self.full]

    def job(self, runs: Sequence[Run]) -> dict[str, float]:
        """What runs of the full job state of their scale; empty where there is one size, or none of it has ended."""
        full = self.of_full(runs) if self.values else []
        return quantities(scale_of(full[0])) if full else {}


def quantities(scale: Scale) -> dict[str, float]:
    """What a law over sizes may know, as stated."""
    stated = {name: getattr(scale, name) for name in QUANTITIES}
    return {name: float(value) for name, value in stated.items() if value is not None and math.isfinite(value)}


def _size(run: Run) -> float | None:
    size = run.facts.extra.get("size")
    return float(size) if isinstance(size, int | float) else None


def _part(run: Run) -> float:
    return min(run.last_step / run.total_steps, 1.0)
