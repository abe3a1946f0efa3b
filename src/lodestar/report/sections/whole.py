"""The whole report: which sections there are, in which order, and what must be said about them.

Comes in: runs (any source that can be read again), perhaps a forecaster, perhaps steered runs. Goes out: a
`ReportPage`, plain data for `write_page`. What was not given is not a section; what was given and does not fit is said
in a note.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from lodestar._errors import ForecasterError, LodestarError, RunError
from lodestar.doctor import diagnose
from lodestar.evaluate import Evaluation, evaluate
from lodestar.evaluate.exam import SomeRuns
from lodestar.forecaster import Forecaster
from lodestar.report.html import Notes, Section
from lodestar.report.sections.against import against_blocks, under_their_task
from lodestar.report.sections.compare import compare_blocks
from lodestar.report.sections.findings import finding_blocks
from lodestar.report.sections.glimpse import DRAWN, Glimpse, glimpses, without_stuck
from lodestar.report.sections.quality import quality_blocks
from lodestar.report.sections.rates import rate_blocks
from lodestar.report.sections.steered import SteeredRun, join_runs
from lodestar.report.sections.steered_runs import steered_blocks
from lodestar.report.sections.sweep import sets, sweep_blocks
from lodestar.report.sections.wording import count
from lodestar.runs.run import Run

OnStage = Callable[[str, int, int | None], None]  # what is being done, how far, of how much


@dataclasses.dataclass(frozen=True)
class ReportPage:
    """A page to be written. `notes` are sentences the reader must know."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    runs: int


def build_report(
    runs: Iterable[Run],
    *,
    forecaster: Forecaster | None = None,
    steered: Sequence[SteeredRun] = (),
    title: str = "",
    drawn: int = DRAWN,
    most: int = 60,
    tick: OnStage | None = None,
) -> ReportPage:
    """Look at everything and say it. `drawn`: runs whose curves are shown; `most`: runs the forecaster is tested on."""
    again = tuple(runs) if isinstance(runs, Iterator) else runs
    stage = tick or (lambda what, done, of: None)
    wanted, kept = {one.run_name for one in steered}, dict[str, Run]()

    def watched() -> Iterator[Run]:
        for run in again:
            if run.name in wanted:
                kept[run.name] = run
            yield run

    seen, thinned = glimpses(watched(), drawn, lambda done: stage("reading runs", done, None))
    if not seen:
        raise RunError(
            "there are no runs to report on. Fix: check the path, or make some: lodestar sweep, lodestar import"
        )
    joined = join_runs(steered, kept.values())
    seen, moved = under_their_task(seen, joined, forecaster)
    seen = without_stuck(seen)
    diagnosis = diagnose(again, lambda done: stage("examining runs", done, len(seen)))
    notes = [*_about_sets(seen), *moved, *_about_logs(joined, seen, forecaster)]
    quality, own = None, set[str]()
    if forecaster is not None:
        own = {one.run.name for one in joined if one.run is not None}
        quality, said = _quality(forecaster, again, [run for run in seen if run.name not in own] or seen, most, stage)
        notes += said
    parts = {
        "The sweep at a glance": sweep_blocks(seen, thinned),
        "Comparison": [*against_blocks(seen), *compare_blocks(seen)],
        "Steered runs": steered_blocks(joined, forecaster) if joined else [],
        "How the best rate moves": rate_blocks(forecaster, seen) if forecaster is not None else [],
        "Forecaster": quality_blocks(quality, len(own)) if quality is not None else [],
        "Doctor's findings": finding_blocks(diagnosis),
    }
    sections = [Section(name, blocks) for name, blocks in parts.items() if blocks]
    if notes:
        sections.insert(0, Section("Please note", [Notes([("note", note, "") for note in notes], {"note": "warning"})]))
    return ReportPage(title or _title(seen), _lead(seen, joined), tuple(sections), tuple(notes), len(seen))


def _title(seen: Sequence[Glimpse]) -> str:
    task = sets(seen)[0][0].task
    return f"{task}: {count(len(seen), 'run')}" if task else count(len(seen), "training run")


def _lead(seen: Sequence[Glimpse], steered: Sequence[SteeredRun]) -> str:
    finals = sum(run.final == run.final for run in seen)
    more = f", {count(len(steered), 'steered job')} with every decision" if steered else ""
    return f"{count(len(seen), 'run')}, {finals} with a final result{more}."


def _about_sets(seen: Sequence[Glimpse]) -> list[str]:
    parts = sets(seen)
    if len(parts) < 2:
        return []
    return [f"The runs have {len(parts)} different tasks or metrics; they are drawn apart and never compared."]


def _about_logs(steered: Sequence[SteeredRun], seen: Sequence[Glimpse], forecaster: Forecaster | None) -> list[str]:
    """Logs that do not fit the runs or the forecaster beside them."""
    notes = []
    metrics, lengths = {run.metric_name for run in seen}, {run.total_steps for run in seen}
    for one in steered:
        if one.run is not None:
            continue
        if one.metric not in metrics:
            known = ", ".join(sorted(metrics)[:3])
            notes.append(
                f"The log {one.name} is of the metric {one.metric!r}, these runs have {known}: is it another job's?"
            )
        elif one.total_steps not in lengths:
            notes.append(
                f"The log {one.name} is of a job of {one.total_steps} steps, none of these runs has that length."
            )
        stated = None if forecaster is None else forecaster.facts.get("metric_name")
        if stated is not None and one.metric != stated:
            notes.append(
                f"The log {one.name} forecasts {one.metric!r}, the forecaster {stated!r}: it was made by another."
            )
    return notes[:5] + ([f"And {len(notes) - 5} more notes of this kind on logs."] if len(notes) > 5 else [])


def _quality(
    forecaster: Forecaster, runs: Iterable[Run], seen: Sequence[Glimpse], most: int, stage: OnStage
) -> tuple[Evaluation | None, list[str]]:
    """Test the forecaster on those runs of its metric that were `seen`; and what is to be said about it.

    Runs it steered itself are not among them where there are others: it chose what they did.
    """
    stated = str(forecaster.facts.get("metric_name", "metric"))
    same_way = {run.metric_name for run in seen if run.direction is forecaster.direction}
    if not same_way:
        raise ForecasterError(
            f"the forecaster's metric {stated!r} is to be {forecaster.direction}imised, and no run here has such a "
            f"metric (they have {', '.join(sorted({run.metric_name for run in seen})[:3])}). "
            "Fix: pass the forecaster fitted to these runs, or leave --model out"
        )
    name, notes = stated, []
    if stated not in same_way:
        name = next(run.metric_name for run in seen if run.direction is forecaster.direction)
        notes = [
            f"The forecaster was fitted to {stated!r} and is tested on {name!r}: right only if that is the same thing."
        ]
    fair = {run.name for run in seen if run.metric_name == name and run.direction is forecaster.direction}
    tested = SomeRuns(runs, lambda run: run.name in fair)
    try:
        found = evaluate(
            forecaster,
            tested,
            tolerances=(),
            most=most,
            on_progress=lambda done, of: stage("testing the forecaster", done, of),
        )
    except LodestarError as error:
        return None, [*notes, f"The forecaster could not be tested: {error}"]
    return found, notes
