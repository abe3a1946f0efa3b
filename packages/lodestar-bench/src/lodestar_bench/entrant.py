"""Who takes part in a table, and the pieces of work a table is made of. Plain data.

Comes in: what a method says of itself on a task. Goes out: an `Entrant`; a `Piece` names one run or learning. Knows
nothing of which pieces there are: see `plan`.
"""

import dataclasses

from lodestar_bench._errors import BenchError


@dataclasses.dataclass(frozen=True)
class Entrant:
    """A method that takes part: `spec` is how the command line named it, `grid` its values on this task."""

    spec: str
    name: str
    title: str
    group: str
    learns: str
    grid: tuple[float, ...]
    form: str = "recipe"

    def __post_init__(self):
        if "/" in self.name or not self.name.strip():
            raise BenchError(f"a method's name must be a word without '/', got {self.name!r}. Fix: rename it")
        if self.learns != "nothing" and len(self.grid) > 1:
            raise BenchError(
                f"method {self.name!r} learns ({self.learns}) and has a grid of {len(self.grid)} values, but a method "
                "that learns has spent its runs on that. Fix: let grid() return one value, or none"
            )


@dataclasses.dataclass(frozen=True)
class Piece:
    """One trial of a bench. `sources` are the names of the runs a learning may look at."""

    name: str
    entrant: Entrant
    stage: str
    value: float
    seed: int
    learned: str | None = None
    sources: tuple[str, ...] = ()
    allowed_runs: int = 0
    form: str = "recipe"
