"""Which few extra runs would help most: concrete recipes, the most useful first.

What helps is variety where results are good: shapes not tried, rates beyond an edge at which the best run lies, holes
between rates, a second seed.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

from lodestar.doctor.all_runs import ENOUGH_RUNS
from lodestar.doctor.findings import Digest
from lodestar.runs.run import Direction, Status
from lodestar.schedules import OTHER, UNKNOWN, Shape

MOST = 6
NOTABLE_GAP = 0.75  # decades
START_LR = 1e-3
"""The rate to begin with when no run tells a better one: a common default of Adam."""
LINEAR = Shape("linear", warmup=True)
WORTH_TRYING = (Shape("onecycle"), LINEAR, Shape("cosine"), Shape("step"), Shape("constant"))


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """A run to make, and why."""

    schedule: str
    peak_lr: float
    seed: int
    reason: str

    def as_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def suggest(runs: Sequence[Digest]) -> tuple[Suggestion, ...]:
    """The most useful runs to add; none if there is plenty of everything."""
    usable = [run for run in runs if run.usable]
    best = _best(usable)
    peak = best.peak_lr if best else _safe_start(runs)
    ceiling = _ceiling(runs)
    ideas = itertools.chain(
        _edges(usable, best, ceiling),
        _shapes(usable, peak),
        _holes(usable, best),
        _seeds(runs, best),
        _more(usable, peak),
    )
    found: dict[tuple[str, float], Suggestion] = {}
    for idea in ideas:
        found.setdefault((idea.schedule, idea.peak_lr), idea)
    return tuple(itertools.islice(found.values(), MOST))


def _edges(usable: Sequence[Digest], best: Digest | None, ceiling: float) -> Iterator[Suggestion]:
    """The best run lies at the edge of what was tried: look past it."""
    if best is None:
        return
    peaks = sorted({run.peak_lr for run in usable})
    shape = _name(best.shape)
    if best.peak_lr >= peaks[-1] * 0.99 and best.peak_lr * 3 < ceiling:
        yield Suggestion(shape, _round(best.peak_lr * 3), best.seed or 0, "the best run has the highest peak lr tried")
    if best.peak_lr <= peaks[0] * 1.01:
        yield Suggestion(shape, _round(best.peak_lr / 3), best.seed or 0, "the best run has the lowest peak lr tried")


def _shapes(usable: Sequence[Digest], peak: float) -> Iterator[Suggestion]:
    """Shapes nobody has tried, at the best rate known. Runs that are all different need no more."""
    tried = {run.shape for run in usable}
    if sum(run.shape == OTHER for run in usable) > ENOUGH_RUNS:
        return
    reason = "shape not tried yet; the best rate known" if usable else "a rate to begin with"
    for shape in WORTH_TRYING:
        if shape not in tried and not (shape == LINEAR and Shape("linear") in tried):
            yield Suggestion(_name(shape), _round(peak), 0, reason)


def _holes(usable: Sequence[Digest], best: Digest | None) -> Iterator[Suggestion]:
    """The middle of a wide gap beside the best run's rate."""
    peaks = sorted({run.peak_lr for run in usable})
    for low, high in itertools.pairwise(peaks):
        if best is not None and best.peak_lr in (low, high) and math.log10(high / low) > NOTABLE_GAP:
            middle = _round(math.sqrt(low * high))
            reason = f"no run lies between {low:.2g} and {high:.2g}, beside the best"
            yield Suggestion(_name(best.shape), middle, 0, reason)


def _seeds(runs: Sequence[Digest], best: Digest | None) -> Iterator[Suggestion]:
    """Repeat the best run: how much of its lead is luck?"""
    if best is None:
        return
    twins = [r for r in runs if r.shape == best.shape and math.isclose(r.peak_lr, best.peak_lr, rel_tol=0.05)]
    if len(twins) < 2:
        seed = max((run.seed for run in runs if run.seed is not None), default=0) + 1
        yield Suggestion(_name(best.shape), _round(best.peak_lr), seed, f"repeats the best run ({best.name[:40]})")


def _more(usable: Sequence[Digest], peak: float) -> Iterator[Suggestion]:
    """Simply more runs, all different, spread over a decade around the best rate."""
    for number in range(min(MOST, ENOUGH_RUNS - len(usable))):
        offset = (number * 0.618) % 1.0 - 0.6  # the golden ratio spreads them evenly, however many are made
        shape = WORTH_TRYING[number % 3]
        reason = f"only {len(usable)} usable runs; different ones teach most"
        yield Suggestion(_name(shape), _round(peak * 10**offset), number, reason)


def _best(usable: Sequence[Digest]) -> Digest | None:
    if not usable or len({run.direction for run in usable}) > 1:
        return None
    pick = max if usable[0].direction is Direction.MAX else min
    return pick(usable, key=lambda run: run.final_metric)


def _ceiling(runs: Sequence[Digest]) -> float:
    """The lowest peak lr above which no run survived."""
    survived = max((run.peak_lr for run in runs if run.usable), default=0.0)
    lost = [run.peak_lr for run in runs if run.status is Status.DIVERGED and run.peak_lr > survived]
    return min(lost, default=math.inf)


def _safe_start(runs: Sequence[Digest]) -> float:
    lost = [run.peak_lr for run in runs if run.status is Status.DIVERGED and run.peak_lr > 0]
    known = [run.peak_lr for run in runs if run.peak_lr > 0]
    return min(lost) / 10 if lost else min(known, default=START_LR)


def _name(shape: Shape) -> str:
    if shape.warmup and shape.family in ("linear", "cosine"):
        return f"{shape.family} to 0, warm-up 5 %"
    plain = {Shape("step"): "step (halved each third)", UNKNOWN: "onecycle", OTHER: "cosine"}
    return plain.get(shape, str(shape))


def _round(rate: float) -> float:
    return float(f"{rate:.1e}")
