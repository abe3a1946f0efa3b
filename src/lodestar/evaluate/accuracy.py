"""How far off: relative MSE of loss, learning rate and metric (the paper's table A1 and its ablation figure).

Comes in: a contest. Goes out: rows of plain data. The paper's figure is over the whole run, so a forecaster that merely
repeats what it saw gets that part right for nothing; `still to come` counts the rest only.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.contest import Contest
from lodestar.evaluate.evaluation import OURS, Ablation, Accuracy, ByChannel, Scope, Truth
from lodestar.evaluate.exam import Exam
from lodestar.fitting.quality import relative_mse


def accuracy(contest: Contest, fractions: Sequence[float]) -> tuple[Accuracy, ...]:
    """Every forecaster, fraction, scope and truth."""
    return tuple(row for name in contest.names for seen in fractions for row in _rows(contest, name, seen))


def _rows(contest: Contest, name: str, seen: float) -> Iterator[Accuracy]:
    exam, made = contest.exam, contest.forecast(name, seen)
    mask = exam.data.mask
    ahead = mask & (np.arange(mask.shape[1]) >= exam.stop(seen))[None, :, None]
    truths: dict[Truth, NDArray] = {"smoothed": exam.natural(exam.data.values), "raw": exam.raw}
    scopes: dict[Scope, NDArray] = {"whole run": mask, "still to come": ahead}
    for truth, values in truths.items():
        for scope, where in scopes.items():
            yield Accuracy(name, seen, scope, truth, ByChannel.of(relative_mse(made, values, where)))


def errors(exam: Exam, made: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relative MSE of each run over its whole length, smoothed: (runs, 3)."""
    return relative_mse(made, exam.natural(exam.data.values), exam.data.mask)


def fractions_of(points: int, count: int = 12) -> tuple[float, ...]:
    """Fractions from 2 % to all, evenly spaced on a log scale, each a whole number of points."""
    stops = np.unique(np.maximum(1, np.round(np.geomspace(0.02, 1.0, count) * points)))
    return tuple(float(stop / points) for stop in stops)


def ablation(
    contest: Contest, tolerances: Sequence[float], seen: Sequence[float], tick: Callable[[], None]
) -> tuple[Ablation, ...]:
    """Error against the fraction seen: our forecaster by each solver, then the simple ones."""
    exam = contest.exam
    rows = []
    for tolerance in (None, *tolerances):
        found = []
        for fraction in seen:
            made = contest.seen(fraction) if tolerance is None else exam.forecast(fraction, tolerance)
            found.append(ByChannel.of(errors(exam, exam.natural(made.centre))))
            tick()
        solver = own_solver(exam) if tolerance is None else f"tsit5 at {tolerance:g}"
        rows.append(Ablation(OURS, solver, tolerance, tuple(seen), tuple(found)))
    for name in contest.names[1:]:
        found = []
        for fraction in seen:
            found.append(ByChannel.of(errors(exam, contest.forecast(name, fraction))))
            tick()
        rows.append(Ablation(name, "", None, tuple(seen), tuple(found)))
    return tuple(rows)


def own_solver(exam: Exam) -> str:
    """The forecaster's own solver, in words."""
    shape = exam.forecaster.network.shape
    return f"rk4, {shape.steps} steps" if shape.solver == "rk4" else f"tsit5 at {shape.rtol:g}"
