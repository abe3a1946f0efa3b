"""Which few small runs would settle how the best rate moves: sizes, how many runs, and the rates to try.

Comes in: where the job lies, the best peak rate at each size tried, and what those sizes lack. Goes out: recipes, cheap
ones first. Sizes go in factors of two. Where no run tells, the best rate goes with the prior powers of the law.
"""

import dataclasses
import math
from collections.abc import Mapping

FEWEST_SIZES = 3
FARTHEST = 100.0  # times the largest: beyond, nothing is called covered
REACH = 1.5  # spans of the sizes tried (in log) that a job may lie beyond them: 8 times beyond a span of 4
AT_A_SIZE = 10
WIDE = 4.0  # rates from a fourth of what is expected to four times that
PRIOR = {"size": -0.5, "batch": 0.5, "steps": 0.0}  # powers of the best rate: width^-0.5, sqrt(batch)
FLAGS = {"size": "--sizes", "batch": "--batches", "steps": "--lengths"}
SMALLEST = {"size": 1.0, "batch": 1.0, "steps": 20.0}
START_LR = 1e-3
_DOWN = (2.0, 4.0, 8.0)
_MOST = 4


@dataclasses.dataclass(frozen=True)
class SmallRuns:
    """Some runs to make at one value of a dimension, with peaks spread between `low` and `high`."""

    dimension: str
    value: float
    runs: int
    low: float
    high: float
    reason: str

    @property
    def command(self) -> str:
        """The options of `lodestar sweep` that make them."""
        flag = FLAGS[self.dimension]
        return f"{flag} {self.value:g} --runs {self.runs} --peak {self.low:.2g} {self.high:.2g} --add"

    def as_dict(self) -> dict[str, object]:
        return {**dataclasses.asdict(self), "command": self.command}


def propose(
    dimension: str, value: float, peaks: Mapping[float, float], needs: Mapping[float, tuple[int, str | None]]
) -> list[SmallRuns]:
    """Runs that fill what the sizes tried lack, and at new sizes; none of them as large as the job."""
    found = [_filled(dimension, at, peaks[at], *need) for at, need in needs.items()]
    new = [] if any(value == at for at in peaks) else _new(dimension, value, sorted(peaks))
    found += [_at(dimension, at, _expected(dimension, at, peaks), "a size the line needs") for at in new]
    return sorted(found, key=lambda runs: runs.value)


def _filled(dimension: str, at: float, peak: float, lacking: int, edge: str | None) -> SmallRuns:
    if edge is None:
        return _at(dimension, at, peak, "more rates around the best one", max(lacking, 1))
    low, high = (peak / WIDE**2, peak) if edge == "lowest" else (peak, peak * WIDE**2)
    return SmallRuns(
        dimension, at, max(lacking, 4), _rounded(low), _rounded(high), f"the best had the {edge} rate tried"
    )


def _new(dimension: str, value: float, tried: list[float]) -> list[float]:
    """Values to add: such that there are three, and the job is within reach of them."""
    start = tried or [_whole(value / 4)]
    have, new = list(start), [] if tried else list(start)
    for factor in _DOWN:
        low = _whole(max(start) / factor)
        if len(have) >= FEWEST_SIZES:
            break
        if low >= SMALLEST[dimension] and low not in have:
            have, new = [*have, low], [*new, low]
    while len(new) < _MOST and (len(have) < FEWEST_SIZES or out_of_reach(value, min(have), max(have))):
        above = _whole(2 * max(have))
        if above >= value:
            break
        have, new = [*have, above], [*new, above]
    return new


def out_of_reach(value: float, low: float, high: float) -> bool:
    """Whether a job lies too far from the sizes tried for their span."""
    times = max(value / high, low / value)
    return times > FARTHEST or (times > 1 and math.log(times) > REACH * math.log(high / low) + 1e-9)


def _expected(dimension: str, at: float, peaks: Mapping[float, float]) -> float:
    if not peaks:
        return START_LR
    near = min(peaks, key=lambda known: abs(math.log(known / at)))
    return peaks[near] * (at / near) ** PRIOR[dimension]


def _at(dimension: str, at: float, peak: float, reason: str, runs: int = AT_A_SIZE) -> SmallRuns:
    return SmallRuns(dimension, at, runs, _rounded(peak / WIDE), _rounded(peak * WIDE), reason)


def _rounded(rate: float) -> float:
    return float(f"{rate:.2g}")


def _whole(value: float) -> float:
    """Small sizes may be shares of a width; others are whole."""
    return float(round(value)) if value >= 1 else value
