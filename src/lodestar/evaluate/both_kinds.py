"""Both kinds of forecast of the final metric, schedule known and schedule unknown, beside the simple forecasters.

Comes in: a contest, and a response that never learned from the runs under test. Goes out: a row for each forecaster and
share of a run seen, with nothing seen too where the schedule is known. All rows are of the same runs: those that went
to their end.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lodestar.evaluate.contest import Contest
from lodestar.evaluate.evaluation import KNOWN, OURS, FinalScore
from lodestar.evaluate.ranking import LEVEL, finals
from lodestar.fitting.quality import spearman_within
from lodestar.fitting.response.response import fit_response
from lodestar.forecaster.about import known_words
from lodestar.forecaster.forecaster import Forecaster
from lodestar.forecaster.known_schedules import judge
from lodestar.forecaster.preprocessing.grid import filled
from lodestar.forecaster.preprocessing.normaliser import LR

SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)

Made = tuple[NDArray, NDArray | None, NDArray | None]  # final metrics (runs,), and both ends of their intervals


def final_scores(contest: Contest, knows: Forecaster | None, shares: Sequence[float]) -> tuple[FinalScore, ...]:
    """Every forecaster at every share; `knows` forecasts known schedules, None: nobody does."""
    whole = np.flatnonzero(contest.exam.data.mask[:, -1, LR])
    return (
        tuple(_score(contest, whole, *row) for row in _forecasts(contest, knows, whole, shares)) if len(whole) else ()
    )


def fair_knower(contest: Contest, seed: int = 0) -> tuple[Forecaster | None, str]:
    """A forecaster that knows schedules and never learned from the tested runs; and what must be said about it.

    A fit's response learns from every run, also from those that its latent ODE held out: for these it is fitted again,
    to the past runs that are not under test.
    """
    forecaster, tested = contest.exam.forecaster, frozenset(contest.exam.data.names)
    if forecaster.response is None:
        return None, known_words(forecaster)[0]
    if not tested.intersection(forecaster.facts.get("names", forecaster.references.names)):
        return forecaster, ""
    names = () if contest.past is None else contest.past.names
    others = np.array([place for place, name in enumerate(names) if name not in tested], dtype=np.int64)
    found = fit_response(contest.past.pick(others), seed=seed) if contest.past and len(others) else None
    if found is None:
        said = " ".join(known_words(forecaster))
        return (
            None,
            f"Known schedules could not be tested: it learned from all of these runs. The fit's own test: {said}",
        )
    return dataclasses.replace(forecaster, response=found[0]), (
        f"Schedule known: fitted again to the {len(others)} past runs that are not tested here, since the file's own "
        "model of known schedules learned from these too."
    )


def _forecasts(
    contest: Contest, knows: Forecaster | None, whole: NDArray[np.int64], shares: Sequence[float]
) -> Iterator[tuple[str, float, Made]]:
    if knows is not None:
        for seen in (0.0, *shares):
            yield KNOWN, seen, _known(contest, knows, whole, seen)
    for seen in shares:
        (ours,) = finals(contest, [seen])
        yield OURS, seen, (np.array(ours.forecast)[whole], np.array(ours.lower)[whole], np.array(ours.upper)[whole])
    for name in contest.names[1:]:
        for seen in shares:
            yield name, seen, (contest.exam.finals(contest.forecast(name, seen))[whole], None, None)


def _known(contest: Contest, knows: Forecaster, whole: NDArray[np.int64], seen: float) -> Made:
    """Each run under its own schedule, from what was seen of it."""
    data, contexts = contest.exam.data, contest.exam.contexts(max(seen, SHARES[0]))
    judged = []
    for run in whole:
        rates = data.recipe.normaliser.lr.inverse(filled(data.values[run, :, LR], data.mask[run, :, LR]))
        judged.append(judge(knows, np.maximum(rates, 0.0)[None], contexts[run] if seen else None, LEVEL))
    centre, lower, upper = (
        np.array([getattr(one, part)[0] for one in judged]) for part in ("centre", "lower", "upper")
    )
    return centre, lower, upper


def _score(contest: Contest, whole: NDArray[np.int64], name: str, seen: float, made: Made) -> FinalScore:
    data, (centre, lower, upper) = contest.exam.data, made
    true, fine = data.final_metric()[whole], np.isfinite(centre)
    rmse = float(np.sqrt(np.mean((centre - true)[fine] ** 2))) if fine.any() else float("nan")
    rank, _ = spearman_within(centre, true, [data.workloads[run] for run in whole])
    held = float("nan")
    if lower is not None and upper is not None and fine.any():
        held = float(np.mean((lower <= true)[fine] & (true <= upper)[fine]))
    return FinalScore(name, "known" if name == KNOWN else "unknown", seen, rank, rmse, LEVEL, held, int(fine.sum()))
