"""Carries a plan out: whatever is due goes to a place of the sweep's, every run into the store, until nothing is due.

Comes in: a plan, a home, a place. Goes out: results; events on the way. Rerun with the same arguments after a stop of
any kind, and only what was not finished is run. A trial that fails is noted and the rest goes on. Knows nothing of
screens, nor of what a trial does (see `work`).
"""

import contextlib
import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from lodestar import _disk
from lodestar.runs import Run, Scalar
from lodestar.sweep import AbstractExecutor, Done, Event, Failed, Job, Schedule, Trial
from lodestar_bench import work
from lodestar_bench._errors import BenchError
from lodestar_bench.entrant import Piece
from lodestar_bench.home import BenchFacts, Home
from lodestar_bench.plan import TablePlan
from lodestar_bench.problem import AbstractProblem
from lodestar_bench.quasi_random import schedules
from lodestar_bench.results import LEARN, SWEEP, Results

OnEvent = Callable[[Event], None]
OnRound = Callable[[Results], None]


@dataclasses.dataclass(frozen=True)
class Bench:
    """One task at one scale, what is to be run on it, and where it is kept. `spec` is how a worker finds the task."""

    spec: str
    problem: AbstractProblem
    facts: BenchFacts
    plan: TablePlan
    home: Home

    def results(self) -> Results:
        """What there is so far."""
        return self.home.results(self.facts)


def carry_out(
    bench: Bench, place: AbstractExecutor, *, on_event: OnEvent | None = None, on_round: OnRound | None = None
) -> Results:
    """Make every run that is missing. `on_round` is called before each batch with the results so far."""
    tell, begin = on_event or (lambda event: None), on_round or (lambda results: None)
    results, before = bench.results(), None
    while due := bench.plan.due(results):
        names = {piece.name for piece in due}
        if names == before:
            raise BenchError(f"nothing came of {due[0].name} and {len(due) - 1} more, neither a run nor a failure")
        begin(results)
        if not results.records:
            due = _first(due, place.slots)  # their seconds tell how long all will take
        with _programs_kept(bench.home.path.parent / "programs"):
            _round(bench, place, due, tell)
        results, before = bench.results(), names
    begin(results)
    return results


@contextlib.contextmanager
def _programs_kept(folder: Path) -> Iterator[None]:
    """Workers that start now keep their compiled programs in `folder`, unless the user named another."""
    before = os.environ.get(work.PROGRAMS)
    os.environ[work.PROGRAMS] = before or str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[work.PROGRAMS]


def _first(due: list[Piece], slots: int) -> list[Piece]:
    """Two runs for each slot: the first of a process compiles, the second is quick."""
    return [piece for piece in due if piece.stage != LEARN][: 2 * slots] or due


def _round(bench: Bench, place: AbstractExecutor, due: list[Piece], tell: OnEvent) -> None:
    problem, facts = bench.problem, bench.facts
    job = Job(
        function=work.FUNCTION,
        metric_name=problem.metric_name,
        direction=str(problem.direction),
        task=facts.task,
        cut_diverged=False,  # the bench's own loop stops at the first loss that is not finite
    )
    pieces, drawn = {piece.name: piece for piece in due}, schedules(problem, bench.plan)
    for event in place.run(job, [_trial(bench, piece, drawn.get(piece.name)) for piece in due]):
        if isinstance(event, Done):
            _keep(bench, pieces[event.trial.name], event.run)
        elif isinstance(event, Failed):
            bench.home.note_failure(event.trial.name, event.reason, event.detail)
        tell(event)


def _trial(bench: Bench, piece: Piece, schedule: Schedule | None) -> Trial:
    settings: dict[str, Scalar] = {
        "task": bench.spec,
        "scale": bench.problem.scale,
        "block": bench.facts.block,
        "method": piece.entrant.spec,
        "stage": piece.stage,
    }
    if piece.stage == SWEEP:
        settings["form"] = piece.form
    if math.isfinite(piece.value):
        settings["value"] = piece.value
    if piece.learned is not None:
        settings["knowledge"] = str(bench.home.knowledge(piece.learned).resolve())
    if piece.stage == LEARN:
        return Trial(piece.name, piece.seed, 1, settings={**settings, **_lesson(bench.home, piece)})
    return Trial(piece.name, piece.seed, bench.problem.total_steps, schedule, settings)


def _lesson(home: Home, piece: Piece) -> dict[str, Scalar]:
    """What a learning needs to know; the names of the runs it may look at lie in a file beside its own."""
    path = home.knowledge(piece.name)
    found: dict[str, Scalar] = {"knowledge": str(path.resolve()), "allowed_runs": piece.allowed_runs}
    if piece.sources:
        path.parent.mkdir(parents=True, exist_ok=True)
        listed = path.with_name("runs.json")
        _disk.write_whole(listed, json.dumps(piece.sources).encode())
        found |= {"sources": str(listed.resolve()), "store": str(home.runs.path.resolve())}
    return found


def _keep(bench: Bench, piece: Piece, run: Run) -> None:
    if piece.stage == LEARN:
        bench.home.learnings.add(run)
        return
    known = run.facts.schedule if piece.stage == SWEEP else piece.entrant.name
    facts = dataclasses.replace(run.facts, schedule=known, peak_lr=run.peak_lr, source="lodestar bench")
    bench.home.runs.add(run.replace(facts=facts))
