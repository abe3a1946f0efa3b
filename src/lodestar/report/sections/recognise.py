"""Which run a decision log is of: a log names none, so a run is recognised by what both recorded.

Comes in: steered runs without curves, then runs one by one. Goes out: the same with their runs. The learning rate must
be the same at every step both recorded. That is not enough: jobs that kept the same plan differ by their seed alone. So
the losses and metrics seen at the decisions must be the run's too, the nearest pair first and each run once; or log and
run have one name.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.fitting.dataset import DEFAULT_SMOOTHING
from lodestar.forecaster.preprocessing.smooth import smooth
from lodestar.report.sections.steered import Steered
from lodestar.runs.run import Run, Series

LEAST_SHARED = 5  # steps at which both must have the rate
CLOSE = 2e-3  # of the peak: what single precision and rounding may do
SAME = (
    0.03  # mean relative distance of losses and metrics; measured: 0.004 at most for the same run, 0.07 for a new seed
)


class Recognition:
    """Remembers which runs may belong to which log until all were seen."""

    def __init__(self, steered: Sequence[Steered]):
        self._steered = list(steered)
        self._pairs: list[tuple[float, int, Run]] = []

    def look(self, run: Run) -> None:
        """One more run."""
        for place, one in enumerate(self._steered):
            if agrees(one, run):
                off = -1.0 if run.name == one.name else distance(one, run)
                if off <= SAME:
                    self._pairs.append((off, place, run))

    def matched(self) -> list[Steered]:
        """Each log with its run, the surest pairs first, each run once."""
        found: dict[int, Run] = {}
        taken: set[str] = set()
        for _, place, run in sorted(self._pairs, key=lambda pair: pair[0]):
            if place not in found and run.name not in taken:
                found[place] = run
                taken.add(run.name)
        return [dataclasses.replace(one, run=found.get(place)) for place, one in enumerate(self._steered)]


def match_runs(steered: Sequence[Steered], runs: Iterable[Run]) -> list[Steered]:
    """Give each log the run it is of, if that is among `runs`."""
    recognition = Recognition(steered)
    for run in runs:
        recognition.look(run)
    return recognition.matched()


def agrees(steered: Steered, run: Run) -> bool:
    """Whether length and rates allow it. In shadow mode the rates were not followed, so the name must tell."""
    if run.total_steps != steered.total_steps:
        return False
    if steered.shadow:
        return run.name == steered.name
    used = zip(run.lr.steps.tolist(), run.lr.values.tolist(), strict=True)
    pairs = [(rate, steered.decided[step]) for step, rate in used if step in steered.decided]
    if len(pairs) < LEAST_SHARED:
        return False
    one, other = np.array(pairs).T
    return bool(np.max(np.abs(one - other)) <= CLOSE * np.max(one))


def distance(steered: Steered, run: Run) -> float:
    """Mean relative distance between what was seen at the decisions and the run's curves; inf if nothing is shared."""
    found: list[float] = []
    for channel in ("loss", "metric"):
        series = getattr(run, channel)
        smoothed = _smoothed(series)
        for decision in steered.log.decisions:
            seen, place = (
                getattr(decision, channel),
                int(np.searchsorted(series.steps, decision.step, side="right")) - 1,
            )
            if seen is not None and place >= 0 and math.isfinite(smoothed[place]):
                found.append(abs(seen - smoothed[place]) / max(abs(seen) + abs(smoothed[place]), 1e-12))
    return float(np.mean(found)) if found else math.inf


def _smoothed(series: Series) -> NDArray[np.float64]:
    """About as the scheduler saw it."""
    fine = np.isfinite(series.values)
    return np.where(fine, smooth(series.values, fine, DEFAULT_SMOOTHING * len(series)), np.nan)
