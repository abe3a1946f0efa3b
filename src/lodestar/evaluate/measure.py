"""`evaluate`: every figure on forecasts, on runs the forecaster never learned from.

Comes in: a forecaster and runs. Goes out: an `Evaluation`, plain data. Needs no JAX, draws nothing, writes nothing.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from lodestar.evaluate.accuracy import ablation, accuracy, fractions_of
from lodestar.evaluate.both_kinds import SHARES, fair_knower, final_scores
from lodestar.evaluate.contest import Contest
from lodestar.evaluate.coverage import coverage
from lodestar.evaluate.evaluation import Evaluation
from lodestar.evaluate.exam import Exam, SomeRuns, Which, make_exam
from lodestar.evaluate.examples import examples
from lodestar.evaluate.ranking import about_ranks, finals, ranking, selection
from lodestar.evaluate.stiffness import stiffness
from lodestar.forecaster.forecaster import Forecaster
from lodestar.runs.run import Run

TOLERANCES = (1e-4, 1e-5, 1e-6)
Tick = Callable[[int, int], None]  # done, of


def evaluate(
    forecaster: Forecaster,
    runs: Iterable[Run],
    *,
    fractions: Sequence[float] = (0.05, 0.5),
    against: Iterable[Run] | None = None,
    which: Which = "unseen",
    first_epoch: float | None = None,
    tolerances: Sequence[float] = TOLERANCES,
    most: int = 200,
    on_progress: Tick | None = None,
) -> Evaluation:
    """Test a forecaster on runs: those the fit held out and those it never saw; if there are neither, all of them.

    `against`: the past runs, for the nearest past run to choose from; by default those of `runs` that the fit used.
    `which="all"` tests every run given. Known schedules are forecast by a model that never learned from the tested
    runs: it is fitted again where the file's own did.
    `first_epoch`: how much of a run the selection test sees (default: one epoch where the runs state their `epochs`,
    else 1/60). `most`: no more runs than this are tested.
    """
    _check(fractions, first_epoch, most)
    runs = tuple(runs) if isinstance(runs, Iterator) else runs
    exam = make_exam(forecaster, runs, which, most)
    contest = Contest(exam, _past(exam, runs) if against is None else against)
    seen = fractions_of(exam.data.recipe.points)
    count = itertools.count(1)
    total = len(seen) * (len(tolerances) + len(contest.names)) + 7

    def tick() -> None:
        if on_progress:
            on_progress(next(count), total)

    def done(part: Any) -> Any:
        tick()
        return part

    knows, about_schedules = fair_knower(contest)
    return Evaluation(
        model=_model(forecaster),
        metric_name=exam.data.metric_name,
        direction=str(forecaster.direction),
        runs=exam.data.names,
        excluded=exam.data.excluded,
        notes=(*_notes(exam, contest), *filter(None, [about_schedules])),
        past_runs=contest.past_runs,
        tasks=len(set(exam.data.workloads)),
        ablation=ablation(contest, tolerances, seen, tick),
        accuracy=done(accuracy(contest, fractions)),
        stiffness=done(stiffness(exam, fractions[0])),
        examples=done(examples(contest, fractions)),
        ranking=done(ranking(contest, sorted({*seen, *fractions}))),
        finals=finals(contest, fractions),
        selection=done(selection(contest, first_epoch or 1.0 / exam.epochs)),
        coverage=done(coverage(contest, fractions)),
        final_scores=done(final_scores(contest, knows, sorted({*SHARES, *fractions} - {1.0}))),
    )


def _past(exam: Exam, runs: Iterable[Run]) -> Iterable[Run] | None:
    """Those of the runs that the fit used; None where nobody may look at any of them."""
    facts = exam.forecaster.facts
    used = frozenset(facts.get("names", exam.forecaster.references.names)).intersection(run.name for run in runs)
    if not used.difference(exam.data.names, *facts.get("held_out", [])):
        return None
    return SomeRuns(runs, lambda run: run.name in used)


def _check(fractions: Sequence[float], first_epoch: float | None, most: int) -> None:
    given = {f"fractions[{i}]": value for i, value in enumerate(fractions)}
    if first_epoch is not None:
        given["first_epoch"] = first_epoch
    for name, value in given.items():
        if not 0 < value <= 1:
            raise ValueError(f"{name} must be a fraction of the run in (0, 1], got {value}. Fix: 0.05 is its first 5 %")
    if not fractions:
        raise ValueError("fractions must name at least one, got none. Fix: (0.05, 0.5) are the paper's")
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")


def _notes(exam: Exam, contest: Contest) -> tuple[str, ...]:
    notes = list(exam.notes)
    if contest.past is None:
        notes.append("The nearest past run did not take part: no past runs were given (lodestar evaluate --against).")
    return (*notes, *about_ranks(exam))


def _model(forecaster: Forecaster) -> dict[str, Any]:
    """What the forecaster is, as it says itself."""
    stated = ("lodestar", "preset", "seed", "runs", "updates", "best_update", "seconds")
    return {
        "members": forecaster.members,
        "points": forecaster.points,
        **{name: forecaster.facts[name] for name in stated if name in forecaster.facts},
        "architecture": forecaster.network.shape.to_dict(),
        "held_out_quality": {k: v for k, v in forecaster.quality.items() if np.isscalar(v)},
    }
