"""One figure of merit over many comparisons: how far a method is from the best, whatever the job.

Comes in: `Contest`s, one a task and block, each with the final test metrics of its methods on common seeds. Goes out: a
`Merit`: each method's regret to the best method of the contest, in units of what one seed differs from the next (the
median over the methods' standard deviations, so that one that breaks down does not hide what lies between the others);
its mean and worst over the contests with bootstrap intervals; paired tests against the method in question, pooled over
contests and seeds; and performance profiles: in what share of contests a method is within so many deviations of the
best. A run that diverged counts as in the table. Reads and draws nothing.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Direction
from lodestar_bench.statistics import Paired, paired

DRAWS = 2000  # of the bootstrap
LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Contest:
    """One task under one optimizer. `tests` holds each method's test metric by seed.

    `held`: of those that steered, in how many runs the interval given at a quarter held the end, of how many.
    """

    name: str
    direction: Direction
    tests: Mapping[str, Mapping[int, float]]
    metric_name: str = ""
    held: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)

    def table(self, methods: Sequence[str]) -> NDArray[np.float64]:
        """Test metrics (methods, common seeds), larger is better, in units of what seeds differ by."""
        seeds = sorted(set.intersection(*(set(self.tests[name]) for name in methods)))
        if len(seeds) < 2:
            raise ValueError(
                f"{self.name}: methods must share at least 2 seeds, got {len(seeds)}. Fix: finish the comparison"
            )
        sign = 1.0 if self.direction is Direction.MAX else -1.0
        found = sign * np.array([[self.tests[name][seed] for seed in seeds] for name in methods])
        unit = float(np.median(found.std(axis=1, ddof=1)))
        if not unit > 0:
            raise ValueError(f"{self.name}: seeds do not differ, so there is no unit to measure in. Fix: more seeds")
        return found / unit


@dataclasses.dataclass(frozen=True)
class Interval:
    """A figure and its bootstrap interval."""

    value: float
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True)
class MeritRow:
    """One method. `against`: the asked method less this one, by seed, over all contests; None for itself.

    `not_worst`: in how many contests the asked method's worst seed is at least this one's.
    """

    method: str
    mean: Interval
    worst: Interval
    regrets: Mapping[str, float]
    against: Paired | None
    not_worst: int | None


@dataclasses.dataclass(frozen=True)
class Merit:
    """All methods, the smallest mean regret first."""

    asked: str
    of: tuple[Contest, ...]
    seeds: int
    rows: tuple[MeritRow, ...]

    @property
    def contests(self) -> tuple[str, ...]:
        """What the comparisons are called."""
        return tuple(contest.name for contest in self.of)

    def profile(self, within: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """The share of contests in which each method's regret is at most so many deviations."""
        return {
            row.method: np.mean([np.asarray(within) >= regret for regret in row.regrets.values()], axis=0)
            for row in self.rows
        }


def common_methods(contests: Sequence[Contest]) -> list[str]:
    """The methods that have results in every contest, in the order of the first."""
    if not contests:
        raise ValueError("there is no comparison to measure. Fix: run lodestar bench table1 first")
    shared = set.intersection(*(set(contest.tests) for contest in contests))
    return [name for name in contests[0].tests if name in shared]


def merit(contests: Sequence[Contest], asked: str, *, seed: int = 0) -> Merit:
    """Regret of every method that took part everywhere; `asked` is held against each of the others."""
    methods = common_methods(contests)
    if asked not in methods:
        raise ValueError(f"{asked!r} has no results in every comparison; {', '.join(methods) or 'no method'} has")
    tables = [contest.table(methods) for contest in contests]
    regrets = np.stack([_regrets(table) for table in tables])  # (contests, methods)
    drawn = _bootstrap(tables, np.random.default_rng(seed))  # (draws, contests, methods)
    mine = methods.index(asked)
    rows = []
    for place, name in enumerate(methods):
        others = place != mine
        rows.append(
            MeritRow(
                name,
                _interval(regrets[:, place].mean(), drawn[:, :, place].mean(axis=1)),
                _interval(regrets[:, place].max(), drawn[:, :, place].max(axis=1)),
                {contest.name: float(regrets[i, place]) for i, contest in enumerate(contests)},
                _pooled(tables, mine, place) if others else None,
                sum(bool(t[mine].min() >= t[place].min()) for t in tables) if others else None,
            )
        )
    rows.sort(key=lambda row: row.mean.value)
    return Merit(asked, tuple(contests), min(t.shape[1] for t in tables), tuple(rows))


def _regrets(table: NDArray[np.float64]) -> NDArray[np.float64]:
    means = table.mean(axis=-1)
    return means.max() - means


def _bootstrap(tables: Sequence[NDArray[np.float64]], generator: np.random.Generator) -> NDArray[np.float64]:
    """Regrets under seeds drawn with replacement, the same ones for all methods of a contest."""
    found = []
    for table in tables:
        picked = generator.integers(0, table.shape[1], size=(DRAWS, table.shape[1]))
        means = table[:, picked].mean(axis=-1)  # (methods, draws)
        found.append((means.max(axis=0) - means).T)
    return np.stack(found, axis=1)


def _interval(value: float, draws: NDArray[np.float64]) -> Interval:
    tail = (1.0 - LEVEL) / 2
    lower, upper = np.quantile(draws, [tail, 1.0 - tail])
    return Interval(float(value), float(lower), float(upper))


def _pooled(tables: Sequence[NDArray[np.float64]], mine: int, other: int) -> Paired:
    ours, theirs = (np.concatenate([table[place] for table in tables]) for place in (mine, other))
    return paired(ours.tolist(), theirs.tolist())


def finite(value: float) -> float | None:
    """For JSON."""
    return value if math.isfinite(value) else None
