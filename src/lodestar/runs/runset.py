"""`RunSet`: several runs, to filter, split and describe. Immutable; knows nothing of where the runs came from."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from lodestar._errors import RunError
from lodestar._extras import picture
from lodestar.runs.run import Direction, Run, Status

SplitBy = Literal["run", "seed", "schedule"]


@dataclasses.dataclass(frozen=True)
class RunSet:
    """An ordered set of runs with unique names."""

    runs: tuple[Run, ...]

    def __init__(self, runs: Iterable[Run] = ()):
        object.__setattr__(self, "runs", tuple(runs))
        seen: set[str] = set()
        for run in self.runs:
            if run.name in seen:
                raise RunError(f"two runs are called {run.name!r}. Fix: give each run a name of its own")
            seen.add(run.name)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __add__(self, other: "RunSet") -> "RunSet":
        return RunSet((*self.runs, *other.runs))

    def _repr_html_(self) -> str | None:
        return picture(self)

    def filter(self, keep: Callable[[Run], bool]) -> "RunSet":
        """The runs for which `keep(run)` is true."""
        return RunSet(run for run in self.runs if keep(run))

    def with_status(self, status: Status) -> "RunSet":
        """The runs that ended so."""
        return self.filter(lambda run: run.status is status)

    def groups(self, by: SplitBy) -> dict[str, "RunSet"]:
        """Runs grouped by name, seed or schedule (with its peak lr, so that a group is one recipe)."""
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(_group_key(run, by), []).append(run)
        return {key: RunSet(runs) for key, runs in found.items()}

    def split(self, fraction: float, *, by: SplitBy = "run", seed: int) -> tuple["RunSet", "RunSet"]:
        """Two sets, the second with about `fraction` of the groups, whole groups only. Order within each is kept."""
        if not 0.0 <= fraction < 1.0:
            raise ValueError(f"fraction must be in [0, 1), got {fraction}. Fix: 0.2 holds one group in five out")
        groups = self.groups(by)
        count = round(fraction * len(groups))
        if fraction > 0 and len(groups) > 1:
            count = min(max(count, 1), len(groups) - 1)
        picked = np.random.default_rng(seed).permutation(len(groups))[:count]
        keys = list(groups)
        held_out = {run.name for index in picked for run in groups[keys[index]]}
        return self.filter(lambda run: run.name not in held_out), self.filter(lambda run: run.name in held_out)

    @property
    def direction(self) -> Direction:
        """The metric's direction, the same for all runs."""
        found = {run.direction for run in self.runs}
        if len(found) != 1:
            raise RunError(
                f"these {len(self.runs)} runs have metric directions {sorted(found) or 'none'}, but one is needed. "
                "Fix: keep runs of one metric (RunSet.filter), or state the direction at import"
            )
        return found.pop()

    def best(self) -> Run:
        """The finished run with the best last metric."""
        usable = [r for r in self.runs if r.status is Status.FINISHED and math.isfinite(r.final_metric)]
        if not usable:
            raise RunError(f"none of these {len(self.runs)} runs finished with a metric. Fix: see lodestar doctor")
        pick = max if self.direction is Direction.MAX else min
        return pick(usable, key=lambda run: run.final_metric)

    def describe(self) -> dict[str, object]:
        """Counts and ranges, as plain data."""
        rates = [run.peak_lr for run in self.runs if math.isfinite(run.peak_lr)]
        finals = [run.final_metric for run in self.runs if math.isfinite(run.final_metric)]
        return {
            "runs": len(self.runs),
            "status": {str(s): len(self.with_status(s)) for s in Status if len(self.with_status(s))},
            "schedules": sorted({run.facts.schedule or "unknown" for run in self.runs}),
            "seeds": sorted({run.facts.seed for run in self.runs if run.facts.seed is not None}),
            "steps": _span([run.total_steps for run in self.runs]),
            "loss_points": _span([len(run.loss) for run in self.runs]),
            "metric_points": _span([len(run.metric) for run in self.runs]),
            "peak_lr": _span(rates),
            "final_metric": _span(finals),
            "metric": sorted({run.metric_name for run in self.runs}),
            "direction": sorted({str(run.direction) for run in self.runs}),
        }


def _group_key(run: Run, by: SplitBy) -> str:
    if by == "run":
        return run.name
    if by == "seed":
        return f"seed {run.facts.seed}" if run.facts.seed is not None else f"run {run.name}"
    if by == "schedule":
        return f"{run.facts.schedule} {run.peak_lr:.3g}" if run.facts.schedule is not None else f"run {run.name}"
    raise ValueError(f"by must be 'run', 'seed' or 'schedule', got {by!r}")


def _span(values: Sequence[float]) -> list[float] | None:
    return [min(values), max(values)] if values else None
