"""Tuning over sizes: which size is tried next, what its runs cost, and what the full job is.

Comes in: the sizes that the training function is given, the size of the job if it is another, and the runs so far. Goes
out: the size of each next trial. The plan is for the job, which is the largest size or one that is never run. Where the
job is among the sizes, each gets the same share of the work, so that a small one gets more runs; where it is not, they
take turns until enough is known to say at which size the next trial tells most for its work (`propose`).
"""

import dataclasses
import math
from collections.abc import Sequence

from lodestar.forecaster.scale_law import MOST_BEYOND, QUANTITIES, SIZES
from lodestar.runs import Run
from lodestar.runs.scale import Scale, scale_of

LEAST_SIZES = 2  # to tell how the best rate moves


@dataclasses.dataclass(frozen=True)
class Sizes:
    """None, or some; without any every run is a full one. `beyond` is a job larger or smaller than all of them."""

    values: tuple[float, ...] = ()
    beyond: float | None = None

    def __post_init__(self):
        job = self.beyond
        if job is None:
            return
        if not (math.isfinite(job) and job > 0):
            raise ValueError(f"size must be a number above 0, got {job}. Fix: the size of the job, --size 256")
        if len(self.values) < LEAST_SIZES:
            listed = ", ".join(f"{value:g}" for value in self.values) or "none"
            raise ValueError(
                f"size={job:g} asks for a plan beyond the sizes that are run, and these must be at least two, got "
                f"{listed}. Fix: --sizes with three sizes, such as a sixteenth, an eighth and a quarter of the job's"
            )
        if job in self.values:
            raise ValueError(f"size={job:g} is one of the sizes that are run. Fix: leave out --size, or that size")
        far = max(job / max(self.values), min(self.values) / job)
        if far > MOST_BEYOND:
            raise ValueError(
                f"size={job:g} lies {far:,.0f} times beyond the sizes that are run; beyond {MOST_BEYOND:g} times no "
                "law is to be trusted. Fix: sizes nearer to the job"
            )

    @property
    def full(self) -> float | None:
        return self.beyond if self.beyond is not None else max(self.values, default=None)

    def apart(self, size: float | None) -> float:
        """log(size / full)."""
        return 0.0 if size is None or self.full is None else math.log(size / self.full)

    def share(self, size: float | None, runs: Sequence[Run] = ()) -> float:
        """The work of a run of that size, in full runs: by the parameters that runs state, else by the size itself."""
        if size is None or self.full is None:
            return 1.0
        known = {at: count for run in runs if (at := size_of(run)) and (count := scale_of(run).parameters)}
        part, whole = known.get(size), _parameters(known, self.full)
        return min(size / self.full if part is None or whole is None else part / whole, 1.0)

    def spent(self, runs: Sequence[Run]) -> float:
        """The work of runs, in full runs; one that was stopped counts for the part it ran."""
        shares = {size: self.share(size, runs) for size in {size_of(run) if self.values else None for run in runs}}
        return sum(shares[size_of(run) if self.values else None] * _part(run) for run in runs)

    def next(self, runs: Sequence[Run], count: int, left: float) -> list[float | None]:
        """The sizes of up to `count` trials within `left` full runs, and half a run more: where least was spent yet."""
        if not self.values:
            return [None] * max(1, min(count, round(left)))
        shares = {size: self.share(size, runs) for size in self.values}
        counted = {size: share if self.beyond is None else 1.0 for size, share in shares.items()}
        spent = {size: sum(counted[size] * _part(run) for run in runs if size_of(run) == size) for size in self.values}
        found: list[float | None] = []
        while len(found) < count and (within := self.within(runs, left)):
            size = min(within, key=lambda size: (round(spent[size], 9), size))
            spent[size] += counted[size]
            left -= shares[size]
            found.append(size)
        return found

    def within(self, runs: Sequence[Run], left: float) -> list[float]:
        """The sizes of which a run takes no more than is left, and half of it more."""
        return [size for size in self.values if self.share(size, runs) / 2 <= left]

    def least(self, runs: Sequence[Run]) -> float:
        """The work of a run of the smallest size."""
        return min((self.share(size, runs) for size in self.values), default=1.0)

    def of_full(self, runs: Sequence[Run]) -> list[Run]:
        """The runs of the full job."""
        return [run for run in runs if not self.values or size_of(run) == self.full]

    def job(self, runs: Sequence[Run]) -> dict[str, float]:
        """What runs of the full job state of their scale; empty where there is one size, or none of it has ended.

        Of a job that is never run: its size, and what the runs of the largest state besides.
        """
        if self.beyond is None:
            full = self.of_full(runs) if self.values else []
            return quantities(scale_of(full[0])) if full else {}
        nearest = max(runs, key=lambda run: size_of(run) or 0.0, default=None)
        stated = {} if nearest is None else quantities(scale_of(nearest))
        known = {at: count for run in runs if (at := size_of(run)) and (count := scale_of(run).parameters)}
        moved = {"width": self.beyond, "parameters": _parameters(known, self.beyond)}
        found = {name: moved[name] if name in SIZES else value for name, value in stated.items()}
        return {name: value for name, value in found.items() if value is not None}


def quantities(scale: Scale) -> dict[str, float]:
    """What a law over sizes may know, as stated."""
    stated = {name: getattr(scale, name) for name in QUANTITIES}
    return {name: float(value) for name, value in stated.items() if value is not None and math.isfinite(value)}


def size_of(run: Run) -> float | None:
    """What its function was given."""
    size = run.facts.extra.get("size")
    return float(size) if isinstance(size, int | float) else None


def _parameters(known: dict[float, float], size: float) -> float | None:
    """Of a network of that size: as stated, else on the straight line, in logarithms, through the two nearest."""
    if size in known or len(known) < LEAST_SIZES:
        return known.get(size)
    near, far = sorted(known, key=lambda at: abs(math.log(at / size)))[:2]
    slope = math.log(known[near] / known[far]) / math.log(near / far)
    return known[near] * math.exp(slope * math.log(size / near))


def _part(run: Run) -> float:
    return min(run.last_step / run.total_steps, 1.0)
