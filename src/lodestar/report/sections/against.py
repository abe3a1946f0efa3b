"""Steered runs against past ones: which task they are of, and whether they beat the best group of past runs.

Comes in: glimpses, and what the decision logs say. Goes out: glimpses under one task, and blocks. A tracker often calls
the experiment a run was logged to its task; the forecaster that steered it knows better.
"""

import dataclasses
import math
from collections.abc import Sequence

from lodestar.evaluate.difference import CHANCE, Difference, difference
from lodestar.forecaster import Forecaster
from lodestar.report.html import Block, Text
from lodestar.report.sections.compare import Group, groups
from lodestar.report.sections.glimpse import Glimpse
from lodestar.report.sections.steered import SteeredRun
from lodestar.report.sections.wording import count, number, percent, short
from lodestar.runs.few import FEW_RUNS
from lodestar.runs.run import STEERED, Direction

TITLE = "steered by Lodestar"


def under_their_task(
    seen: Sequence[Glimpse], steered: Sequence[SteeredRun], forecaster: Forecaster | None
) -> tuple[list[Glimpse], list[str]]:
    """The glimpses, each steered run marked and under the task it is of; and what must be said about that."""
    logs = {one.run_name: one for one in steered if one.run is not None and not one.shadow}
    marked = [
        dataclasses.replace(run, steered=True, schedule=STEERED) if run.steered or run.name in logs else run
        for run in seen
    ]
    found: list[Glimpse] = []
    moved: dict[tuple[str, str], int] = {}
    for run in marked:
        task = _task(run, logs.get(run.name), marked, forecaster) if run.steered else run.task
        if task != run.task:
            moved[run.task, task] = moved.get((run.task, task), 0) + 1
        found.append(dataclasses.replace(run, task=task))
    notes = [
        f"{count(many, 'steered run')} logged under the task {old!r}: compared with the runs of {new!r}, the task that "
        "the job or its forecaster states."
        for (old, new), many in moved.items()
    ]
    return found, notes


def _task(run: Glimpse, log: SteeredRun | None, seen: Sequence[Glimpse], forecaster: Forecaster | None) -> str:
    """As the job stated it, as its forecaster knows it, or that of the one set of past runs of the same metric."""
    past = {one.task for one in seen if not one.steered and one.what[1:] == run.what[1:]}
    if run.task in past:
        return run.task
    stated = [] if log is None else [log.log.facts.get("task"), log.log.header.get("task")]
    if forecaster is not None:
        learned = set(forecaster.facts.get("names", forecaster.references.names))
        stated += [forecaster.facts.get("task"), *{one.task for one in seen if one.name in learned}]
    return next((str(task) for task in stated if task in past), past.pop() if len(past) == 1 else run.task)


def against_blocks(seen: Sequence[Glimpse]) -> list[Block]:
    """A paragraph for each set of comparable runs that holds steered and past ones."""
    found: list[Block] = []
    for what in dict.fromkeys(run.what for run in seen if run.steered):
        part = [run for run in seen if run.what == what]
        text = _sentences([run for run in part if run.steered], [run for run in part if not run.steered])
        found += [Text(text)] if text else []
    return found


def _sentences(steered: Sequence[Glimpse], past: Sequence[Glimpse]) -> str:
    if not past:
        return ""
    recipes = groups(past, lambda run: f"{run.schedule} at {run.peak_lr:.3g}")
    best = next((group for group in recipes if group.counted > 1), recipes[0])
    ours = Group.of(TITLE, steered)
    if not best.counted or not ours.counted:
        return ""
    theirs = [run.final for run in past if f"{run.schedule} at {run.peak_lr:.3g}" == best.name]
    found = difference(
        *([value for value in part if math.isfinite(value)] for part in ([r.final for r in steered], theirs))
    )
    many = f", the best of {len(recipes)} groups, chosen afterwards, which flatters it" if len(recipes) > 1 else ""
    return (
        f"Final {steered[0].metric_name}: {_group(ours)}. The best past group{many}: {_group(best)}. "
        f"{_verdict(found, steered[0].direction)}"
    )


def _group(group: Group) -> str:
    excluded = f", {group.excluded} excluded" if group.excluded else ""
    figures = f"mean {number(group.mean)}, median {number(group.median)}, best {number(group.best)}"
    return f"{short(group.name)}, {figures} (n = {group.counted}{excluded})"


def _verdict(found: Difference, direction: Direction) -> str:
    word = "better" if direction.better(found.by, 0.0) else "worse"
    if math.isnan(found.p):
        return (
            f"The steered mean is {number(abs(found.by), 3)} {word}; a test needs two runs that differ on both sides."
        )
    sure = (
        f"such a difference comes by chance {percent(found.p, 2)} of the time"
        if found.p < CHANCE
        else "this may be chance"
    )
    few = f" n is below {FEW_RUNS}: run more seeds to be sure." if min(found.runs) < FEW_RUNS else ""
    return (
        f"The steered mean is {number(abs(found.by), 3)} {word} (difference {number(found.by, 3)}, 95 % interval "
        f"{number(found.low, 3)} to {number(found.high, 3)}); Welch's t-test, p = {number(found.p, 2)}: {sure}.{few}"
    )
