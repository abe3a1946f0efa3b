"""Spaces: which schedules a sweep tries, in an order whose first n are a good choice for any n.

Comes in: ranges, a number of runs, a length, a seed. Goes out: trials. The paper's grid repeats each of 20 schedules
with five seeds; the quasi-random space gives every run a schedule of its own, spread evenly over peak rate, warm-up,
plateau, decay and floor, which shows a forecaster far more of what a schedule can be. Knows nothing of files.
"""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lodestar._extras import need
from lodestar.runs import Scalar
from lodestar.schedules import FAMILIES, PAPER_SHAPES, Schedule, parse, trapezoid
from lodestar.sweep.trial import Trial

DEFAULT_PEAK = (1e-4, 1e-1)
PAPER_RATES = 5
PAPER_SEEDS = 5


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, even in the logarithm if `log`; or some `choices` instead."""

    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[float, ...] = ()

    def __post_init__(self):
        values = self.choices or (self.low, self.high)
        if not all(math.isfinite(value) for value in values) or self.low > self.high:
            raise ValueError(f"a range must go from a low to a high finite number, got {list(values)}")
        if self.log and min(values) <= 0:
            raise ValueError(f"this range is logarithmic, so its numbers must be above 0, got {list(values)}")

    def at(self, u: float) -> float:
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        if self.log:
            return math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low)))
        return self.low + u * (self.high - self.low)


class AbstractSpace(abc.ABC):
    """A choice of schedules."""

    @abc.abstractmethod
    def trials(self, runs: int | None, total_steps: int, *, seed: int) -> list[Trial]:
        """The first `runs` trials, or all that the space holds; the same for the same arguments, each name once."""

    @abc.abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """What tells this space from another, as plain data."""


@dataclasses.dataclass(frozen=True)
class Grid(AbstractSpace):
    """Shapes x rates x seeds; the seeds vary slowest, so that the first runs try every schedule once."""

    shapes: tuple[str, ...] = PAPER_SHAPES
    rates: tuple[float, ...] = ()
    seeds: int = PAPER_SEEDS

    def __post_init__(self):
        unknown = [shape for shape in self.shapes if shape not in FAMILIES]
        if unknown:
            raise ValueError(f"there is no shape {unknown[0]!r}. Fix: choose among {', '.join(FAMILIES)}")
        if not self.shapes or not self.rates or self.seeds < 1:
            raise ValueError("a grid needs at least one shape, one rate and one seed")
        if min(self.rates) <= 0 or not all(map(math.isfinite, self.rates)):
            raise ValueError(f"a grid's rates must be finite numbers above 0, got {list(self.rates)}")

    def trials(self, runs: int | None, total_steps: int, *, seed: int) -> list[Trial]:
        """More runs than the grid has are made with further seeds."""
        each = [(shape, rate) for rate in self.rates for shape in self.shapes]
        wanted = len(each) * self.seeds if runs is None else runs
        trials = []
        for number in range(wanted):
            (shape, rate), chosen = each[number % len(each)], seed + number // len(each)
            name = f"{shape}-{rate:.4g}-seed{chosen}"
            trials.append(Trial(name, chosen, total_steps, FAMILIES[shape](rate, total_steps)))
        return trials

    def identity(self) -> Mapping[str, Any]:
        """Without the number of seeds: more of them go on with the same sweep."""
        return {"kind": "grid", "shapes": list(self.shapes), "rates": list(self.rates)}


def paper_grid(peak: tuple[float, float] = DEFAULT_PEAK, seeds: int = PAPER_SEEDS) -> Grid:
    """The paper's: constant, cosine, onecycle and step decay; five rates, even in the logarithm; five seeds."""
    low, high = peak
    if not 0 < low <= high < math.inf:
        raise ValueError(f"the peak rates must go from a low to a high number above 0, got {low} to {high}")
    rates = np.geomspace(low, high, PAPER_RATES)
    return Grid(PAPER_SHAPES, tuple(float(f"{rate:.4g}") for rate in rates), seeds)


@dataclasses.dataclass(frozen=True)
class QuasiRandom(AbstractSpace):
    """Trapezoids from a scrambled Sobol sequence: for any n, its first n are spread evenly. A seed of its own each.

    `warmup` is a share of the run, `plateau` a share of what is left after the warm-up, `floor` a share of the peak.
    """

    peak: Range = Range(*DEFAULT_PEAK, log=True)
    warmup: Range = Range(0.0, 0.3)
    plateau: Range = Range(0.0, 0.7)
    power: Range = Range(0.5, 3.0, log=True)
    floor: Range = Range(choices=(0.0, 0.01, 0.1))

    def __post_init__(self):
        for name in ("warmup", "plateau", "floor"):
            span: Range = getattr(self, name)
            values = span.choices or (span.low, span.high)
            if min(values) < 0 or max(values) > 1 or (name == "warmup" and max(values) >= 1):
                raise ValueError(f"{name} is a share and must lie between 0 and 1, got {list(values)}")

    def trials(self, runs: int | None, total_steps: int, *, seed: int) -> list[Trial]:
        """100 unless said otherwise."""
        wanted = 100 if runs is None else runs
        names = [field.name for field in dataclasses.fields(self)]
        random = np.random.default_rng(seed)
        qmc = need("scipy.stats", "cli").qmc
        sequence = qmc.Sobol(len(names), scramble=True, seed=random)  # SciPy 1.15 calls it rng, and takes both
        points = sequence.random_base2(max(math.ceil(math.log2(max(wanted, 1))), 0))[:wanted]
        drawn = ({name: getattr(self, name).at(u) for name, u in zip(names, point, strict=True)} for point in points)
        return [self._trial(number, values, total_steps, seed) for number, values in enumerate(drawn)]

    def _trial(self, number: int, drawn: Mapping[str, float], total_steps: int, seed: int) -> Trial:
        plateau = drawn["plateau"] * (1 - drawn["warmup"])
        made = {key: float(f"{value:.6g}") for key, value in {**drawn, "plateau": plateau}.items()}
        schedule = trapezoid(made.pop("peak"), total_steps, **made)
        return Trial(f"sobol{seed}-{number:04d}", 1000 * seed + number, total_steps, schedule, made)

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "sobol", **{key: dataclasses.asdict(value) for key, value in vars(self).items()}}


def for_averaged_weights(space: QuasiRandom) -> QuasiRandom:
    """The same with floors up to the peak itself: where weights are averaged, a rate need not fall to end well."""
    return dataclasses.replace(space, floor=Range(0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class TrialList(AbstractSpace):
    """Trials as they are listed; each may be repeated with further seeds."""

    listed: Sequence[Trial]
    seeds: int = 1

    def trials(self, runs: int | None, total_steps: int, *, seed: int) -> list[Trial]:
        """All, or the first `runs`; the lengths are the trials' own."""
        if self.seeds == 1:
            return list(self.listed[:runs])
        again = [
            dataclasses.replace(trial, name=f"{trial.name}-seed{trial.seed + extra}", seed=trial.seed + extra)
            for extra in range(self.seeds)
            for trial in self.listed
        ]
        return again[:runs]

    def identity(self) -> Mapping[str, Scalar]:
        """A list may grow: each trial is known by its own digest."""
        return {"kind": "list"}


def in_words(words: str, total_steps: int, *, seed: int, seeds: int = 1) -> TrialList:
    """A list of schedules in words, with commas between: "cosine:1e-3, linear:3e-3:warmup=0.05"."""
    drawn = [parse(part.strip(), total_steps) for part in words.split(",")]
    named = [(name_of(number, schedule, seed), schedule) for number, schedule in enumerate(drawn, start=1)]
    return TrialList([Trial(name, seed, total_steps, schedule) for name, schedule in named], seeds)


def name_of(number: int, schedule: Schedule, seed: int) -> str:
    """What the `number`-th trial of a list is called, unless it says so itself."""
    return f"{number:04d}-{schedule.name}-{schedule.peak:.4g}-seed{seed}"
