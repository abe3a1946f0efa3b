"""Standings: results side by side, each of ours against the best baseline.

Comes in: results on the same seeds. Goes out: rows, the best first: mean and standard deviation, the worst seed, and
Welch's p and the paired difference against the best baseline. A run that diverged counts as the floor. Prints nothing.
"""

import dataclasses
import math
from collections.abc import Sequence

from lodestar.runs import Direction
from lodestar_bench.arena.result import Result
from lodestar_bench.statistics import Paired, Spread, Welch, paired, spread, welch


@dataclasses.dataclass(frozen=True)
class Standing:
    """One contestant. `paired` is turned so that better is positive; NaN for the best baseline itself."""

    result: Result
    tests: tuple[float, ...]
    finals: Spread
    worst: float
    diverged: int
    welch: Welch
    paired: Paired


@dataclasses.dataclass(frozen=True)
class Standings:
    """Rows, the best mean first; `best` is the best baseline, None where none took part."""

    rows: tuple[Standing, ...]
    best: Result | None


def standings(results: Sequence[Result], direction: Direction) -> Standings:
    """Compare. Results on other seeds than the first one's are left to another table."""
    same = [one for one in results if one.seeds == results[0].seeds]
    smaller = direction is Direction.MIN
    floor = (max if smaller else min)((one.floor for one in same if math.isfinite(one.floor)), default=math.nan)
    tests = {one.mark: tuple(floor if math.isnan(test) else test for test in one.tests) for one in same}
    sign = -1.0 if smaller else 1.0
    order = sorted({one.mark: one for one in same}.values(), key=lambda one: -sign * spread(tests[one.mark]).mean)
    best = next((one for one in order if not one.ours), None)
    rows = [_standing(one, tests[one.mark], tests[best.mark] if best else (), sign, one is best) for one in order]
    return Standings(tuple(rows), best)


def _standing(one: Result, tests: tuple[float, ...], other: tuple[float, ...], sign: float, itself: bool) -> Standing:
    found = spread(tests)
    alone = itself or not other
    return Standing(
        one,
        tests,
        found,
        found.low if sign > 0 else found.high,
        sum(map(math.isnan, one.tests)),
        welch(tests, other) if not alone else Welch(math.nan, math.nan, math.nan),
        paired([sign * test for test in tests], [sign * test for test in other])
        if not alone
        else Paired(0, math.nan, math.nan, math.nan, math.nan, 0),
    )
