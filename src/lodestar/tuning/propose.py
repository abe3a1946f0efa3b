"""Which schedules to try next: those by which the best is expected to improve most.

Comes in: the runs so far. Goes out: schedules, what they are expected to gain, and the forecast of the best. Of some
hundred quasi-random schedules, those of the largest expected improvement are taken. The best so far is the model's
reading of the schedules tried, not the luckiest run; only what the model does not know counts as a chance, luck does
not. The model is a surface over schedules, fitted in milliseconds. Over several sizes it is one surface for all, whose
rates count by a power of the size: a trial is to make the job's own plan better, whatever size it is tried at.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.runs import Run, Status
from lodestar.schedules import trapezoid
from lodestar.sweep.spaces import QuasiRandom, Range
from lodestar.sweep.trial import Trial
from lodestar.tuning.choose import Tried, candidates, numbers_at, read_tried
from lodestar.tuning.sizes import Sizes, size_of
from lodestar.tuning.surface import Surface

Array, Places = NDArray[np.float64], NDArray[np.int64]

_WORTH = 0.25  # an expected gain below this share of what luck does to a run is none
_WANTED, _TRIED, _DRAWS = 48, 64, 120  # schedules of the job, those that may be tried, and joint draws of both
_NODES = np.array([-1.8570, -0.8327, 0.0, 0.8327, 1.8570])  # of a normal variable, in five equal parts or nearly
_WEIGHTS = np.array([0.0802, 0.2410, 0.3576, 0.2410, 0.0802])


@dataclasses.dataclass(frozen=True)
class Prospect:
    """Schedules to try, the gain expected of the best of them, and the forecast of the best schedule known.

    Metrics are in the user's units. `worth` is False where the gain is lost in luck.
    """

    trials: tuple[Trial, ...]
    gain: float
    final: float
    lower: float
    upper: float
    worth: bool
    runs: int


def propose(
    runs: Sequence[Run],
    space: QuasiRandom,
    count: int | Sequence[float | None],
    total_steps: int,
    *,
    number: int,
    seed: int,
    sizes: Sizes | None = None,
    left: float = math.inf,
    trials_left: int | None = None,
) -> Prospect | None:
    """The next trials, so many or one of each size, named from `number` on; None while there are too few runs.

    For a job beyond the sizes each is of the size at which it tells most for the part that it takes of the work that is
    `left`, or of the trials.
    """
    wanted: Sequence[float | None] = [None] * count if isinstance(count, int) else count
    sizes = sizes or Sizes()
    tried = read_tried(runs, sizes)
    if tried is None:
        return None
    points, rates = candidates(space, seed)
    job = _allowed(runs, space, rates, tried.surface, sizes, None)
    options: Sequence[float | None] = sizes.within(runs, left) if sizes.beyond is not None else [*dict.fromkeys(wanted)]
    places = {size: _allowed(runs, space, rates, tried.surface, sizes, size) for size in options}
    if not len(job) or not all(map(len, places.values())):
        return None
    gains = {size: _gains(tried, rates, job, places[size], sizes, size, seed + number) for size in options}
    trials, best_gain = [], 0.0
    takes = {size: _takes(sizes.share(size, runs), left, trials_left) for size in options}
    for order, given in enumerate(wanted):
        picked = [_pick(gains[size], size, order, len(wanted)) for size in (options if sizes.beyond else [given])]
        gain, size, place = max(picked, key=lambda found: found[0] / takes[found[1]])
        trials.append(_trial(numbers_at(space, points[places[size][place]]), number + order, total_steps, seed, size))
        best_gain = max(best_gain, gain)
    centre, doubt = tried.surface(rates[job])
    top, best = int(np.argmax(centre - doubt)), _best(tried, centre, sizes)
    return Prospect(
        tuple(trials),
        abs(tried.final(best + best_gain) - tried.final(best)),
        tried.final(centre[top]),
        *tried.interval(centre[top], doubt[top]),
        sizes.beyond is not None or best_gain >= _WORTH * tried.surface.luck,
        len(tried.names),
    )


def _takes(share: float, left: float, trials_left: int | None) -> float:
    """The part of the work, or of the trials, that are left."""
    part = share / left if math.isfinite(left) else 0.0
    return max(part, 1 / trials_left if trials_left else 0.0) or share


def _pick(gains: Array, size: float | None, order: int, count: int) -> tuple[float, float | None, int]:
    """The best of every `count`-th place, so that trials made at once differ: its gain, the size, and the place."""
    part = np.arange(order, len(gains), count)
    place = int(part[np.argmax(gains[part])]) if len(part) else int(np.argmax(gains))
    return float(gains[place]), size, place


def _best(tried: Tried, centre: Array, sizes: Sizes) -> float:
    """What the best known schedule is expected to be worth: of those tried, or over sizes of all."""
    return float(centre.max()) if sizes.values else float(tried.surface(tried.rates)[0].max())


def _gains(
    tried: Tried, rates: Array, job: Places, places: Places, sizes: Sizes, size: float | None, seed: int
) -> Array:
    """What a trial at each of some places is expected to gain."""
    surface = tried.surface
    if not sizes.values:
        centre, doubt = surface(rates[places])
        return expected_gain(centre - float(surface(tried.rates)[0].max()), doubt)
    return told_gain(surface, rates[job], rates[places], sizes.apart(size), seed)


def _allowed(
    runs: Sequence[Run], space: QuasiRandom, rates: Array, surface: Surface, sizes: Sizes, size: float | None
) -> Places:
    """The candidates that may be tried at a size: not those of rates above which runs diverged."""
    high = within(runs, space, lambda run: math.exp(_apart(run, sizes, size) * surface.exponent[0])).peak.high
    return np.flatnonzero(rates.max(axis=1) <= high * (1 + 1e-9))


def _apart(run: Run, sizes: Sizes, size: float | None) -> float:
    return sizes.apart(size_of(run)) - sizes.apart(size) if sizes.values else 0.0


def trial_of(numbers: Mapping[str, float], number: int, total_steps: int, seed: int) -> Trial:
    """A trial of a schedule's five numbers."""
    shape = {name: value for name, value in numbers.items() if name != "peak"}
    schedule = trapezoid(numbers["peak"], total_steps, **shape)
    return Trial(name_of(number, seed), 1000 * seed + number, total_steps, schedule, shape)


def _trial(numbers: Mapping[str, float], number: int, total_steps: int, seed: int, size: float | None) -> Trial:
    trial = trial_of(numbers, number, total_steps, seed)
    return trial if size is None else dataclasses.replace(trial, settings={**trial.settings, "size": size})


def expected_gain(ahead: NDArray[np.float64], doubt: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much a normal variable, `ahead` of the best on average, is expected to lie above it."""
    doubt = np.maximum(doubt, 1e-12)
    z = ahead / doubt
    below = np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in z])
    return ahead * below + doubt * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def told_gain(surface: Surface, wanted: Array, tried: Array, size: float, seed: int) -> Array:
    """By how much each of some trials at a log size is expected to raise the best of the `wanted` schedules.

    From joint draws of all of them: what a trial's end would tell of every schedule that is wanted, exponent included.
    """
    rng = np.random.default_rng([seed, 3])
    ours = _some(surface(wanted)[0], _WANTED, rng)
    theirs = _some(surface(tried, size)[0], _TRIED, rng)
    both = np.concatenate([wanted[ours], tried[theirs]])
    drawn = surface.draws(both, np.r_[np.zeros(len(ours)), np.full(len(theirs), size)], _DRAWS, rng)
    middle = drawn.mean(axis=0)
    apart = drawn - middle
    told, seen = apart[:, : len(ours)], apart[:, len(ours) :]
    reach = told.T @ seen / len(drawn) / np.sqrt((seen**2).mean(axis=0) + surface.luck**2)
    best = middle[: len(ours), None, None] + reach[..., None] * _NODES
    gains = np.full(len(tried), -np.inf)
    gains[theirs] = best.max(axis=0) @ _WEIGHTS - middle[: len(ours)].max()
    return gains


def _some(centre: Array, most: int, rng: np.random.Generator) -> Places:
    """Places of some of the better half, at random."""
    better = np.argsort(-centre, kind="stable")[: max(len(centre) // 2, 1)]
    return np.sort(rng.choice(better, min(most, len(better)), replace=False))


def within(runs: Sequence[Run], space: QuasiRandom, moved: Callable[[Run], float] = lambda run: 1.0) -> QuasiRandom:
    """The space without the peak rates above which runs diverged; half of the way there, in the logarithm, stays.

    `moved` times a run's rate does at the size in question what that rate did at its own.
    """
    peaks = [(run, run.peak_lr * moved(run)) for run in runs]
    fine = [peak for run, peak in peaks if run.status is not Status.DIVERGED and math.isfinite(peak)]
    lost = [peak for run, peak in peaks if run.status is Status.DIVERGED and peak > max(fine, default=0.0)]
    if not fine or not lost:
        return space
    high = min(math.sqrt(max(fine) * min(lost)), space.peak.high)
    return dataclasses.replace(space, peak=Range(min(space.peak.low, high), high, log=True))


def name_of(number: int, seed: int) -> str:
    """What the `number`-th trial is called."""
    return f"tune{seed}-{number:04d}"
