"""Which schedules to try next, and which to end with: by a surface of how schedules end, fitted in milliseconds.

Comes in: the runs so far and the space. Goes out: the schedules by which the best is expected to improve most; at the
end the one to use. That is the mean of the candidates that are expected to end best, so that no single one's error and
no lucky run is followed; or a schedule that was tried, where the surface expects more of it by more than luck.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar._extras import need
from lodestar.forecaster.preprocessing.transform import Transform, metric_transform
from lodestar.forecaster.scale_law import PRIORS
from lodestar.runs import Direction, Run, Status
from lodestar.schedules import Schedule, parse
from lodestar.sweep.spaces import QuasiRandom, Range
from lodestar.tuning.sizes import Sizes, size_of
from lodestar.tuning.surface import Surface, fit_surface, lowest

CELLS = 50
NUMBERS = ("peak", "warmup", "plateau", "power", "floor")
_DRAWN = 512
_AVERAGED = 24
_DOUBTED = 0.5  # deviations taken off what is expected of a schedule one ends with
_LEAST = 3  # finished runs
_LEVEL = 1.2816  # deviations: 80 % of a normal variable lie within
_SURE = 1.4  # a factor to the best rate that costs next to nothing

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Choice:
    """A schedule to end with, and the final metric that is expected of a run along it, with 80 % of luck and doubt.

    `name` is the run that tried it; None if none did. `words` name the schedule ("trapezoid:3e-3:warmup=0.1..."); none
    do where it is only known as it was logged. Over sizes the best rate falls as size^-`exponent`, which is known to
    one `deviation`; `reach` is the logarithm of how far the job lies beyond the sizes that were tried.
    """

    schedule: Schedule
    final: float
    lower: float
    upper: float
    name: str | None = None
    words: str = ""
    exponent: float | None = None
    deviation: float = 0.0
    reach: float = 0.0

    @property
    def law(self) -> str:
        """How the best rate moves with the size, in words; empty for one size."""
        if self.exponent is None:
            return ""
        low, high = (self.exponent + side * _LEVEL * self.deviation for side in (-1.0, 1.0))
        return (
            f"Over the sizes the best rate falls as size^-{self.exponent:.2f} ({low:.2f} to {high:.2f}, 80 % interval)."
        )

    @property
    def unsure(self) -> str:
        """A warning, where the job's best rate is not known to within a factor of 1.4."""
        factor = math.exp(_LEVEL * self.deviation * self.reach)
        if self.exponent is None or factor <= _SURE:
            return ""
        return (
            f"the runs tell the best rate at the job's size to within a factor of {factor:.2g} only, and the plan "
            "leans low. Fix: more runs (a larger --budget), or sizes nearer to the job"
        )


@dataclasses.dataclass(frozen=True)
class Tried:
    """What the runs so far say: a surface, the units of the metric, and the schedules they tried."""

    names: tuple[str, ...]
    rates: Array
    surface: Surface
    units: Transform
    sign: float

    def final(self, worth: float) -> float:
        """In the user's units."""
        return float(self.units.inverse(self.sign * worth))

    def interval(self, centre: float, doubt: float) -> tuple[float, float]:
        half = _LEVEL * math.hypot(doubt, self.surface.luck)
        lower, upper = sorted(self.final(centre + side * half) for side in (-1.0, 1.0))
        return lower, upper


def read_tried(runs: Sequence[Run], sizes: Sizes | None = None) -> Tried | None:
    """None while fewer than three runs have finished, or all at one value.

    A run that was stopped counts as no better than the middling one of its size that finished, and it may be much
    worse; one that diverged as the worst there is.
    """
    sizes = sizes or Sizes()
    runs = [run for run in runs if len(run.metric) or run.status is Status.DIVERGED]
    finished = [run for run in runs if run.status is Status.FINISHED and math.isfinite(run.final_metric)]
    if len(finished) < _LEAST or len({run.final_metric for run in finished}) < 2:
        return None
    sign = 1.0 if finished[0].direction is Direction.MAX else -1.0
    units = metric_transform(np.concatenate([run.metric.values for run in finished]), finished[0].direction)
    known: list[tuple[Run, Array, float, float, float]] = []
    for apart, alike in _by_size(runs, sizes).items():
        whole = [run for run in alike if run.status is Status.FINISHED and math.isfinite(run.final_metric)]
        ends = np.array([sign * float(units.forward(run.final_metric)) for run in whole])
        if len(ends):
            known += [(*made, apart) for run in alike if (made := _worth(run, ends, units, sign)) is not None]
    if len(known) < _LEAST:
        return None
    order = {id(run): place for place, run in enumerate(runs)}
    known.sort(key=lambda row: order[id(row[0])])
    made, rates, worth, doubt, apart = zip(*known, strict=True)
    options = (np.stack(rates), np.array(worth), np.array(doubt), np.array(apart))
    surface = fit_surface(*options, PRIORS["width"])
    return Tried(tuple(run.name for run in made), options[0], surface, units, sign)


def _by_size(runs: Sequence[Run], sizes: Sizes) -> dict[float, list[Run]]:
    """Runs by the logarithm of their size over that of the job."""
    found: dict[float, list[Run]] = {}
    for run in runs:
        found.setdefault(sizes.apart(size_of(run)) if sizes.values else 0.0, []).append(run)
    return found


def _worth(run: Run, ends: Array, units: Transform, sign: float) -> tuple[Run, Array, float, float] | None:
    """Its rates, what its end was worth among those of its size, and how far that is in doubt."""
    rates = schedule_of(run)
    if rates is None:
        return None
    middle, low = float(np.median(ends)), lowest(ends)
    whole = run.status is Status.FINISHED and math.isfinite(run.final_metric)
    lost = run.status is Status.DIVERGED or not math.isfinite(run.metric.values[-1])
    last = low if lost else sign * float(units.forward(run.metric.values[-1]))
    return run, rates, last if whole else min(max(last, low), middle), 0.0 if whole or lost else (middle - low) / 2


def schedule_of(run: Run) -> Array | None:
    """The rates on cells of the whole run: of the trapezoid it was given, else as logged; None if that ended early."""
    numbers = _numbers_of(run)
    if numbers is not None:
        return _drawn(numbers)
    if not len(run.lr) or run.lr.steps[-1] < 0.98 * run.total_steps:
        return None
    return np.interp((np.arange(CELLS) + 0.5) / CELLS * run.total_steps, run.lr.steps, run.lr.values)


def _numbers_of(run: Run) -> dict[str, float] | None:
    """Those of the trapezoid that a run was given, if it says so."""
    found = {"peak": run.facts.peak_lr} | {name: run.facts.extra.get(name) for name in NUMBERS[1:]}
    known = {name: float(value) for name, value in found.items() if isinstance(value, int | float)}
    return known if len(known) == len(NUMBERS) else None


def _drawn(numbers: Mapping[str, float]) -> Array:
    """One trapezoid on cells."""
    return draw(*(np.array([numbers[name]]) for name in NUMBERS))[0]


def draw(peak: Array, warmup: Array, plateau: Array, power: Array, floor: Array) -> Array:
    """Many trapezoids (n, cells) at once, as the family of that name draws one; `plateau` is a share of the run."""
    at = (np.arange(CELLS) + 0.5) / CELLS
    peak, warmup, plateau, power, floor = (part[:, None] for part in (peak, warmup, plateau, power, floor))
    fallen = np.clip((at - warmup - plateau) / np.maximum(1.0 - warmup - plateau, 1e-12), 0.0, 1.0)
    share = floor + (1.0 - floor) * (1.0 - fallen) ** power
    return peak * np.minimum(share, at / np.maximum(warmup, 1e-12))


@functools.lru_cache(maxsize=4)  # a tuning asks for the same ones each time
def candidates(space: QuasiRandom, seed: int) -> tuple[Array, Array]:
    """Points of the unit cube (n, 5), spread evenly, and the rates (n, cells) there."""
    sequence = need("scipy.stats", "cli").qmc.Sobol(len(NUMBERS), scramble=True, seed=np.random.default_rng([seed, 1]))
    points = sequence.random_base2(int(math.log2(_DRAWN)))
    peak, warmup, plateau, power, floor = (_at(getattr(space, n), points[:, i]) for i, n in enumerate(NUMBERS))
    return points, draw(peak, warmup, plateau * (1 - warmup), power, floor)


def _at(span: Range, u: Array) -> Array:
    if span.choices:
        return np.asarray(span.choices)[np.minimum((u * len(span.choices)).astype(int), len(span.choices) - 1)]
    return span.low * (span.high / span.low) ** u if span.log else span.low + u * (span.high - span.low)


def numbers_at(space: QuasiRandom, point: Array) -> dict[str, float]:
    """Five numbers at a point of the unit cube, as a trial's settings have them: `plateau` is a share of the run."""
    found = {name: float(getattr(space, name).at(float(u))) for name, u in zip(NUMBERS, point, strict=True)}
    found["plateau"] *= 1 - found["warmup"]
    return {name: float(f"{value:.6g}") for name, value in found.items()}


def choose(
    runs: Sequence[Run], space: QuasiRandom, total_steps: int, *, seed: int, most: float, sizes: Sizes | None = None
) -> Choice | None:
    """The schedule to end with; `most` is the highest peak rate that may be asked for. None where no run finished.

    Over several sizes it is for the job.
    """
    sizes = sizes or Sizes()
    tried = read_tried(runs, sizes)
    if tried is None:
        return _best_seen(sizes.of_full(runs))
    points, rates = candidates(space, seed)
    allowed = np.flatnonzero(rates.max(axis=1) <= most * (1 + 1e-9))
    centre, doubt = tried.surface(rates[allowed])
    best = allowed[np.argsort(-(centre - _DOUBTED * doubt), kind="stable")[:_AVERAGED]]
    numbers = numbers_at(space, points[best].mean(axis=0)) if len(best) else None
    fine = np.flatnonzero(tried.rates.max(axis=1) <= most * (1 + 1e-9))
    fine = fine[:0] if sizes.values else fine  # a smaller job's schedule is none of this one's
    names = [tried.names[place] for place in fine]
    options = list(tried.rates[fine])
    if numbers is not None:
        options.append(_drawn(numbers))
    if not options:
        return _best_seen(runs)
    centre, doubt = tried.surface(np.stack(options))
    merit = centre - _DOUBTED * doubt
    place = int(np.argmax(merit))
    if numbers is not None and merit[place] - merit[-1] <= tried.surface.luck:
        place = len(options) - 1  # what a tried one has more is its own luck, as like as not
    final = tried.final(centre[place])
    if numbers is not None and place == len(options) - 1:
        words = _words(numbers)
        found = Choice(parse(words, total_steps), final, *tried.interval(centre[place], doubt[place]), words=words)
        return found if sizes.beyond is None else _over_sizes(found, tried, sizes)
    run = next(run for run in runs if run.name == names[place])
    schedule, words = _again(run)
    return Choice(schedule, final, *tried.interval(centre[place], doubt[place]), run.name, words)


def _over_sizes(choice: Choice, tried: Tried, sizes: Sizes) -> Choice:
    exponent, deviation = tried.surface.exponent
    reach = min(abs(sizes.apart(size)) for size in sizes.values)
    return dataclasses.replace(choice, exponent=exponent, deviation=deviation, reach=reach)


def best_of(runs: Sequence[Run]) -> Run | None:
    """The finished run with the best final metric."""
    fine = [run for run in runs if run.status is Status.FINISHED and math.isfinite(run.final_metric)]
    return (
        functools.reduce(lambda a, b: b if b.direction.better(b.final_metric, a.final_metric) else a, fine)
        if fine
        else None
    )


def _best_seen(runs: Sequence[Run]) -> Choice | None:
    best = best_of(runs)
    if best is None:
        return None
    schedule, words = _again(best)
    return Choice(schedule, best.final_metric, -math.inf, math.inf, best.name, words)


def _again(run: Run) -> tuple[Schedule, str]:
    """The schedule that a run followed, and the words for it."""
    numbers = _numbers_of(run)
    if numbers is not None:
        words = _words(numbers)
        return parse(words, run.total_steps), words
    at = np.arange(1, run.total_steps + 1)
    return Schedule(run.name, np.interp(at, run.lr.steps, run.lr.values)), ""


def _words(numbers: Mapping[str, float]) -> str:
    """For the five numbers."""
    shape = "".join(f":{name}={float(numbers[name])!r}" for name in NUMBERS[1:])
    return f"trapezoid:{float(numbers['peak'])!r}{shape}"
