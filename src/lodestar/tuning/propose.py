"""Which schedules to try next: those by which the best is expected to improve most.

Comes in: the runs so far. Goes out: schedules, what they are expected to gain, and the forecast of the best. Of some
hundred quasi-random schedules, those of the largest expected improvement are taken. The best so far is the model's
reading of the schedules tried, not the luckiest run; only what the model does not know counts as a chance, luck does
not. The model is a surface over schedules, fitted in milliseconds. Runs of several sizes ask for more: a response is
fitted to their curves, and they are brought into the units of one by the law over sizes that they teach; what is
forecast is the full job.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import PrepareError
from lodestar.fitting.dataset import prepare
from lodestar.fitting.response.cells import cell_runs
from lodestar.fitting.response.response import fit_response
from lodestar.fitting.scale_law import one_scale
from lodestar.forecaster.response.history import CELLS
from lodestar.forecaster.response.response import Response
from lodestar.forecaster.scale_law import ScaleLaw
from lodestar.runs import Direction, Run, Status
from lodestar.runs.scale import scale_of
from lodestar.schedules import trapezoid
from lodestar.sweep.spaces import QuasiRandom, Range
from lodestar.sweep.trial import Trial
from lodestar.tuning.choose import candidates, numbers_at, read_tried
from lodestar.tuning.sizes import Sizes, quantities

_DRAWN = 512
_LEVEL = 0.8
_WORTH = 0.25  # an expected gain below this share of what luck does to a run is none


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
) -> Prospect | None:
    """The next trials, so many or one of each size, named from `number` on; None while there are too few runs."""
    wanted: Sequence[float | None] = [None] * count if isinstance(count, int) else count
    if sizes is None or not sizes.values:
        return _by_surface(runs, space, len(wanted), total_steps, number, seed)
    return _by_response(runs, space, wanted, total_steps, number, seed, sizes)


def _by_surface(
    runs: Sequence[Run], space: QuasiRandom, count: int, total_steps: int, number: int, seed: int
) -> Prospect | None:
    tried = read_tried(runs)
    if tried is None:
        return None
    points, rates = candidates(space, seed)
    allowed = np.flatnonzero(rates.max(axis=1) <= within(runs, space).peak.high * (1 + 1e-9))
    if not len(allowed):
        return None
    centre, doubt = tried.surface(rates[allowed])
    best = float(tried.surface(tried.rates)[0].max())
    gains = expected_gain(centre - best, doubt)
    places = [np.arange(first, len(gains), count) for first in range(min(count, len(gains)))]
    picked = [part[np.argmax(gains[part])] for part in places]
    top, gain = int(np.argmax(centre - doubt)), float(gains[picked].max())
    return Prospect(
        tuple(
            trial_of(numbers_at(space, points[allowed[place]]), number + order, total_steps, seed)
            for order, place in enumerate(picked)
        ),
        abs(tried.final(best + gain) - tried.final(best)),
        tried.final(centre[top]),
        *tried.interval(centre[top], doubt[top]),
        gain >= _WORTH * tried.surface.luck,
        len(tried.names),
    )


def trial_of(numbers: Mapping[str, float], number: int, total_steps: int, seed: int) -> Trial:
    """A trial of a schedule's five numbers."""
    shape = {name: value for name, value in numbers.items() if name != "peak"}
    schedule = trapezoid(numbers["peak"], total_steps, **shape)
    return Trial(name_of(number, seed), 1000 * seed + number, total_steps, schedule, shape)


def _by_response(
    runs: Sequence[Run],
    space: QuasiRandom,
    wanted: Sequence[float | None],
    total_steps: int,
    number: int,
    seed: int,
    sizes: Sizes,
) -> Prospect | None:
    try:
        data, law = one_scale(prepare([run for run in runs if run.status is not Status.DIVERGED]))
        fitted = fit_response(data, seed=seed)
    except (PrepareError, ValueError, np.linalg.LinAlgError):  # nothing to be learned from these yet
        return None
    if fitted is None:
        return None
    response, sign = fitted[0], 1.0 if data.recipe.direction is Direction.MAX else -1.0
    scales = _Scales(law, sizes, runs)
    drawn = within(runs, space, scales).trials(_DRAWN, CELLS, seed=seed + number)
    rates = np.stack([trial.schedule.rates for trial in drawn if trial.schedule is not None])
    finals = response.finals(rates * scales.factor(None))
    best = float(np.max(sign * response.finals(cell_runs(data).rates).centre))
    gains = expected_gain(sign * finals.centre - best, finals.doubt)
    places = (np.arange(first, len(gains), len(wanted)) for first in range(len(wanted)))
    picked = [part[np.argmax(gains[part])] for part in places]
    normaliser = data.recipe.normaliser if law is None else law.normaliser(data.recipe.normaliser, scales.full)
    units, top = normaliser.metric, int(np.argmax(sign * finals.centre - finals.doubt))
    final, lower, upper = _interval(response, units, finals.centre[top], finals.deviation[top])
    gain = float(gains[picked].max())
    luck = math.sqrt(max(float(finals.deviation[top] ** 2 - finals.doubt[top] ** 2), 0.0))
    return Prospect(
        tuple(
            _trial(drawn[place], number + order, total_steps, seed, size, scales.moved(size))
            for order, (place, size) in enumerate(zip(picked, wanted, strict=True))
        ),
        abs(float(units.inverse(sign * (best + gain)) - units.inverse(sign * best))),
        final,
        lower,
        upper,
        gain >= _WORTH * luck,
        len(data),
    )


@dataclasses.dataclass(frozen=True)
class _Scales:
    """How rates of one size do what rates of another did. Space and forecasts are those of the full job."""

    law: ScaleLaw | None
    sizes: Sizes
    runs: Sequence[Run]

    @property
    def full(self) -> dict[str, float]:
        return self.sizes.job(self.runs)

    def factor(self, run: Run | None) -> float:
        """A rate of that run (None: of the full job) times this does what that rate did in the reference job."""
        if self.law is None:
            return 1.0
        return self.law.factor(self.full if run is None else quantities(scale_of(run)))

    def moved(self, size: float | None) -> float:
        """A rate of the full job times this is the rate at that size."""
        like = next((run for run in self.runs if size is not None and run.facts.extra.get("size") == size), None)
        return 1.0 if like is None else self.factor(None) / self.factor(like)

    def peak(self, run: Run) -> float:
        """A run's peak rate, as the full job would have it."""
        return run.peak_lr * (self.factor(run) / self.factor(None) if self.sizes.values else 1.0)


def expected_gain(ahead: NDArray[np.float64], doubt: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much a normal variable, `ahead` of the best on average, is expected to lie above it."""
    doubt = np.maximum(doubt, 1e-12)
    z = ahead / doubt
    below = np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in z])
    return ahead * below + doubt * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def within(runs: Sequence[Run], space: QuasiRandom, scales: _Scales | None = None) -> QuasiRandom:
    """The space without the peak rates above which runs diverged; half of the way there, in the logarithm, stays."""
    scales = scales or _Scales(None, Sizes(), runs)
    peaks = [(run, scales.peak(run)) for run in runs]
    fine = [peak for run, peak in peaks if run.status is not Status.DIVERGED and math.isfinite(peak)]
    lost = [peak for run, peak in peaks if run.status is Status.DIVERGED and peak > max(fine, default=0.0)]
    if not fine or not lost:
        return space
    high = min(math.sqrt(max(fine) * min(lost)), space.peak.high)
    return dataclasses.replace(space, peak=Range(min(space.peak.low, high), high, log=True))


def _trial(drawn: Trial, number: int, total_steps: int, seed: int, size: float | None, moved: float) -> Trial:
    assert drawn.schedule is not None
    shape = {name: float(value) for name, value in drawn.settings.items()}
    schedule = trapezoid(drawn.schedule.peak * moved, total_steps, **shape)
    settings = shape if size is None else {**shape, "size": size}
    return Trial(name_of(number, seed), 1000 * seed + number, total_steps, schedule, settings)


def name_of(number: int, seed: int) -> str:
    """What the `number`-th trial is called."""
    return f"tune{seed}-{number:04d}"


def _interval(response: Response, units, centre: float, deviation: float) -> tuple[float, float, float]:
    half = response.mixture.width(0.0, _LEVEL) * deviation
    lower, upper = sorted(float(units.inverse(centre + side * half)) for side in (-1.0, 1.0))
    return float(units.inverse(centre)), lower, upper
