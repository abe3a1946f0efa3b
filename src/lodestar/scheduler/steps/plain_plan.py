"""A plain schedule as the initial plan: OneCycle, say, until a decision replaces it, as in the authors' code.

Comes in: words, "onecycle" or "onecycle:3e-3:pct_start=0.2", and a forecaster. Goes out: a planned run. Without a rate
in the words, the peak is the mean (geometric) of those of the best reference runs. Loss and metric are what the
forecaster expects of such rates where it knows schedules, and else what it expects of the best past run, for whose
rates they were. Knows nothing of the live run.
"""

import dataclasses
import difflib
from collections.abc import Sequence

import numpy as np

from lodestar.forecaster import Forecaster
from lodestar.forecaster.preprocessing.normaliser import LR
from lodestar.scheduler.planned_run import PlannedRun
from lodestar.schedules.families import FAMILIES, find
from lodestar.schedules.parse import parse

_TRIED = 100  # steps over which words are drawn once, to see that they can be
_FINE = 8  # steps a point


def checked_words(name: str, words: object, known: Sequence[str]) -> None:
    """Refuse an initial plan that is neither one of the known words nor a plain schedule."""
    if words in known:
        return
    family = words.partition(":")[0] if isinstance(words, str) else ""
    if not isinstance(words, str) or find(family) is None:
        near = difflib.get_close_matches(str(words), [*known, *FAMILIES], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"pass {known[0]!r}, or 'onecycle:3e-3'"
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, known))}, or a plain schedule such as 'onecycle:3e-3', got "
            f"{words!r}. Fix: {hint}"
        )
    parse(words if ":" in words else f"{words}:1", _TRIED)


def plain_plan(forecaster: Forecaster, words: str, best: PlannedRun, runs: int) -> tuple[PlannedRun, str]:
    """The schedule that `words` name, and where it comes from; `best` lends its forecast where there is no other."""
    if ":" not in words:
        words = f"{words}:{mean_peak(forecaster, runs):.6g}"
    points = len(best.lr) - 1
    steps = _FINE * points
    drawn = np.asarray(parse(words, steps).values(), dtype=np.float64)
    rates = np.interp(np.arange(points + 1) * _FINE, np.arange(1, steps + 1), drawn)  # a point is the end of its steps
    return dataclasses.replace(best, lr=rates), f"a plain schedule, {words}, until a decision replaces it"


def mean_peak(forecaster: Forecaster, runs: int) -> float:
    """The geometric mean of the peak rates of the best `runs` reference runs."""
    references = forecaster.references
    peaks: list[float] = []
    for run in range(min(runs, len(references))):
        rates = references.values[run, :, LR][references.mask[run, :, LR]]
        peaks.append(float(np.max(forecaster.recipe.normaliser.lr.inverse(rates))))
    return float(np.exp(np.mean(np.log(peaks))))
