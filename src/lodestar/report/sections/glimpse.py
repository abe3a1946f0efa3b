"""A run at a glance: its facts and its curves, thinned to what a screen can show.

Comes in: a run. Goes out: a `Glimpse`, a few kilobytes, so that a store of any size is read one run at a time. A run
that a fit would exclude as diverged or stuck has no final metric here either. Knows nothing of charts.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.doctor.diverged import Ending, ending, stuck_beside, why_collapsed
from lodestar.fitting.dataset import DEFAULT_SMOOTHING
from lodestar.forecaster.preprocessing.smooth import smooth
from lodestar.report.html.thin import corners, thin
from lodestar.runs.run import OUR_MODE, Direction, Run, Series, Status
from lodestar.runs.scale import Scale, scale_of
from lodestar.schedules import recognise

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
POINTS = 240  # of a loss or metric that is drawn
DRAWN = 150  # runs whose curves are drawn


@dataclasses.dataclass(frozen=True)
class Glimpse:
    """A run in a few numbers; the curves are empty where the run is one of too many."""

    name: str
    task: str
    metric_name: str
    direction: Direction
    schedule: str
    peak_lr: float
    seed: int | None
    status: Status
    final: float
    total_steps: int
    loss: Curve
    metric: Curve
    lr: Curve
    excluded: str = ""  # why a fit would exclude it: it diverged, never learned, or is stuck beside the others
    steered: bool = False  # by Lodestar
    ending: Ending | None = None
    scale: Scale | None = None

    @property
    def what(self) -> tuple[str, str, Direction]:
        """What may be compared: the same task and metric."""
        return self.task, self.metric_name, self.direction

    def bare(self) -> "Glimpse":
        """Without curves."""
        none = (np.zeros(0), np.zeros(0))
        return dataclasses.replace(self, loss=none, metric=none, lr=none)


def glimpse(run: Run) -> Glimpse:
    """Look at one run."""
    excluded = why_collapsed(run) or ""
    known = not excluded and bool(np.isfinite(run.metric.values).any())
    return Glimpse(
        name=run.name,
        task=run.facts.task or "",
        metric_name=run.metric_name,
        direction=run.direction,
        schedule=run.facts.schedule or str(recognise(run.lr.steps, run.lr.values, run.total_steps)),
        peak_lr=_peak(run),
        seed=run.facts.seed,
        status=run.status,
        final=math.nan if excluded else run.final_metric,
        total_steps=run.total_steps,
        loss=_thinned(_smoothed(run.loss)),
        metric=_thinned(run.metric),
        lr=corners(run.lr.steps, run.lr.values, POINTS),
        excluded=excluded,
        steered=run.facts.extra.get(OUR_MODE) == "steer",
        ending=ending(run) if known else None,
        scale=scale_of(run),
    )


def without_stuck(found: Sequence[Glimpse]) -> list[Glimpse]:
    """The same, those excluded that only the others show to be stuck, as a fit excludes them."""
    endings: dict[tuple, list[Ending]] = {}
    for one in found:
        if one.ending is not None:
            endings.setdefault(one.what, []).append(one.ending)
    stuck = {(what, name): why for what, some in endings.items() for name, why in stuck_beside(some).items()}
    return [
        dataclasses.replace(one, excluded=stuck[one.what, one.name], final=math.nan)
        if (one.what, one.name) in stuck
        else one
        for one in found
    ]


def glimpses(
    runs: Iterable[Run], drawn: int = DRAWN, tick: Callable[[int], None] | None = None
) -> tuple[list[Glimpse], int]:
    """All runs, the curves of about `drawn` of them, evenly spread; and how many were logged finer than is drawn."""
    found: list[Glimpse] = []
    every, thinned = 1, 0
    for number, run in enumerate(runs):
        thinned += max(len(run.loss), len(run.metric)) > POINTS
        found.append(glimpse(run) if number % every == 0 else dataclasses.replace(glimpse(run).bare()))
        if number // every >= 2 * drawn:
            every *= 2
            found = [one if place % every == 0 else one.bare() for place, one in enumerate(found)]
        if tick:
            tick(number + 1)
    return _spread(found, drawn), thinned


def _spread(found: list[Glimpse], drawn: int) -> list[Glimpse]:
    """Of the runs that still have curves, `drawn` keep them."""
    with_curves = [place for place, one in enumerate(found) if len(one.loss[0])]
    if len(with_curves) <= drawn:
        return found
    picked = {with_curves[i] for i in np.linspace(0, len(with_curves) - 1, drawn).round().astype(int)}
    return [one if place in picked else one.bare() for place, one in enumerate(found)]


def _peak(run: Run) -> float:
    """As stated where that is what was logged but for the steps in between, so that seeds of one recipe agree."""
    stated, logged = run.facts.peak_lr, run.peak_lr
    return float(stated) if stated is not None and abs(stated - logged) <= 0.1 * stated else logged


def _smoothed(series: Series) -> Series:
    """As a fit smooths it: a hundred raw losses would cover each other. What is not finite stays so."""
    fine = np.isfinite(series.values)
    made = smooth(series.values, fine, DEFAULT_SMOOTHING * len(series))
    return Series(series.steps, np.where(fine, made, np.nan))


def _thinned(series: Series) -> Curve:
    values = np.where(np.isfinite(series.values), series.values, np.nan)
    return thin(series.steps, values, POINTS)
