"""Can it tell good runs from bad ones early? Spearman of final metrics, and the paper's selection test.

Comes in: a contest. Goes out: rank correlations at several fractions, forecast against true finals, and for each
forecaster the run it would pick from the first epoch, with its true rank ("selected 2nd best of 100").
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.contest import Contest
from lodestar.evaluate.evaluation import Finals, Ranking, Selection
from lodestar.evaluate.exam import Exam
from lodestar.fitting.quality import spearman_within
from lodestar.forecaster.preprocessing.normaliser import METRIC
from lodestar.runs.few import FEW_RUNS
from lodestar.runs.run import Direction

LEVEL = 0.8


def ranking(contest: Contest, fractions: Sequence[float]) -> tuple[Ranking, ...]:
    """Every forecaster at every fraction."""
    exam = contest.exam
    true, raw = exam.data.final_metric(), exam.finals(exam.raw)
    rows = []
    for name in contest.names:
        for seen in fractions:
            made = exam.finals(contest.forecast(name, seen))
            off = (made - true)[np.isfinite(made)]
            rmse = float(np.sqrt(np.mean(off**2))) if len(off) else float("nan")
            rank, runs = spearman_within(made, true, exam.data.workloads)
            rows.append(Ranking(name, seen, rank, spearman_within(made, raw, exam.data.workloads)[0], rmse, runs))
    return tuple(rows)


def about_ranks(exam: Exam) -> list[str]:
    """What a reader of rank correlations and coverage must know."""
    tasks, notes = len(set(exam.data.workloads)), []
    if len(exam.data) < FEW_RUNS:
        notes.append(f"Only {len(exam.data)} runs were tested: ranks and coverage mean little.")
    if tasks > 1:
        notes.append(f"The runs are of {tasks} tasks or sizes: rank correlations are those within each, pooled.")
    return notes


def finals(contest: Contest, fractions: Sequence[float]) -> tuple[Finals, ...]:
    """Our forecast of each final metric with its interval, beside the truth."""
    return tuple(_finals(contest, seen) for seen in fractions)


def _finals(contest: Contest, seen: float) -> Finals:
    exam, made = contest.exam, contest.seen(seen)
    intervals = np.stack(
        [
            exam.forecaster.intervals.around(centre, spread, seen, exam.forecaster.times, LEVEL)
            for centre, spread in zip(made.centre, made.disagreement, strict=True)
        ]
    )
    centre, lower, upper = (
        exam.finals(exam.natural(part)).tolist() for part in (made.centre, intervals[:, 0], intervals[:, 1])
    )
    return Finals(seen, LEVEL, exam.data.names, centre, lower, upper, exam.data.final_metric().tolist())


def selection(contest: Contest, seen: float) -> tuple[Selection, ...]:
    """The run each forecaster would pick after a fraction of every run; none from one that cannot say."""
    found = (_selection(contest.exam, name, seen, contest.forecast(name, seen)) for name in contest.names)
    return tuple(row for row in found if row is not None)


def _selection(exam: Exam, name: str, seen: float, made: NDArray[np.float64]) -> Selection | None:
    """The pick is by the forecast at the end of the run; the truth is the last metric as logged."""
    sign = 1.0 if exam.data.recipe.direction is Direction.MAX else -1.0
    guess = sign * made[:, -1, METRIC]
    if not np.isfinite(guess).any():
        return None
    picked = int(np.nanargmax(guess))
    true = sign * exam.finals(exam.raw)
    best = int(np.argmax(true))
    groups = np.array(exam.data.groups)
    means = {group: float(true[groups == group].mean()) for group in dict.fromkeys(exam.data.groups)}
    return Selection(
        forecaster=name,
        seen=exam.stop(seen) / exam.data.recipe.points,
        picked=exam.data.names[picked],
        rank=1 + int((true > true[picked]).sum()),
        runs=len(true),
        final=float(sign * true[picked]),
        best=exam.data.names[best],
        best_final=float(sign * true[best]),
        recipe_rank=1 + sum(mean > means[groups[picked]] for mean in means.values()),
        recipes=len(means),
    )
