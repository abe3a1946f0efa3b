"""Checks of one run at a time. One function a check, listed in `CHECKS`; a new check is a function and a line."""

from collections.abc import Callable, Iterator

import numpy as np

from lodestar.doctor.diverged import blown_up, part_of_run, share_of_lr, starts_late
from lodestar.doctor.findings import FEWEST_POINTS, Finding, FindingKind, advice, error, warning
from lodestar.runs.note import NoteKind
from lodestar.runs.run import Run, Series, Status
from lodestar.runs.scale import read_scale

FEW_POINTS = 20
_MOST_OF_IT = 0.8  # of a run's steps: a curve that covers fewer is worth a word
SAMPLE_SIZES = {500, 1000, 1500, 10_000}
"""How many points trackers hand out when asked for 'the history' of a long run."""

_WORTH_A_LOOK = {NoteKind.FILLER, NoteKind.LEFT_OUT, NoteKind.EXCLUDED, NoteKind.SEVERAL_VALUES}
Check = Callable[[Run], Iterator[Finding]]


def missing_lr(run: Run) -> Iterator[Finding]:
    """No learning rate, or zero throughout."""
    if len(run.lr) == 0:
        cure = "import with --lr COLUMN, or log optimizer.param_groups[0]['lr'] and run again"
        yield error(FindingKind.MISSING_LR, run.name, "has no learning rate, so it cannot be fitted", cure)
    elif run.lr.values.max() == 0:
        cure = "check which column is the lr (--lr)"
        yield error(FindingKind.MISSING_LR, run.name, "has a learning rate of 0 throughout", cure)


def incomplete(run: Run) -> Iterator[Finding]:
    """Curves that cover a part of the run only; what is unknown is never made up."""
    cure = "export the whole history of loss and learning rate; what is not in the log is unknown to a fit"
    reason = part_of_run(run) if len(run.lr) else None
    if reason is not None:
        level = warning if run.status is Status.CUT_SHORT else error
        yield level(FindingKind.INCOMPLETE, run.name, f"cannot be used: {reason}", cure)
        return
    short = [] if len(run.lr) == 0 or share_of_lr(run) >= _MOST_OF_IT else [("learning rate", run.lr)]
    if run.loss.steps[-1] - run.loss.steps[0] < _MOST_OF_IT * (run.last_step - run.loss.steps[0]):
        short.append(("loss", run.loss))
    for word, curve in short:
        what = f"has a {word} for steps {curve.steps[0]}-{curve.steps[-1]} of {run.last_step} only"
        yield warning(FindingKind.INCOMPLETE, run.name, what, cure)


def late_start(run: Run) -> Iterator[Finding]:
    """A log that begins in mid-run."""
    if starts_late(run):
        first, share = int(run.loss.steps[0]), run.loss.steps[0] / run.total_steps
        what = f"begins at step {first} of {run.total_steps} ({share:.0%}): what came before is unknown"
        cure = "if it was resumed from another run, import that run's log too, under the same name: pieces are merged"
        yield warning(FindingKind.LATE_START, run.name, what, cure)


def missing_metric(run: Run) -> Iterator[Finding]:
    """No metric, too few of them, or always the same."""
    if len(run.metric) == 0:
        cure = "import with --metric COLUMN, or log one"
        yield error(FindingKind.MISSING_METRIC, run.name, "has no validation metric", cure)
        return
    values = run.metric.values
    if len(values) > 1 and np.all(values == values[0]):
        what = f"has {run.metric_name} = {values[0]:g} at each of its {len(values)} points"
        cure = "check that it is a validation figure logged during training (--metric), not a final one repeated"
        yield warning(FindingKind.CONSTANT_METRIC, run.name, what, cure)
    if len(values) < FEWEST_POINTS:
        what = f"has only {len(values)} values of {run.metric_name}"
        cure = "validate about twenty times a run, on part of the data if need be"
        yield warning(FindingKind.FEW_METRICS, run.name, what, cure)


def not_finite(run: Run) -> Iterator[Finding]:
    """NaN and inf, and runs that diverged."""
    bad = [f"{word} {value} at step {step}" for word, value, step in _first_bad(run)]
    if run.status is Status.DIVERGED:
        how = f" ({bad[0]})" if bad else ""
        cure = "nothing to do: it is excluded for fitting; its peak lr marks the upper bound"
        yield advice(FindingKind.DIVERGED, run.name, f"diverged{how}, peak lr {run.peak_lr:.3g}", cure)
    elif bad:
        cure = "check the log; a single NaN loss often comes from mixed precision; the run is used without these points"
        yield warning(FindingKind.NOT_FINITE, run.name, f"has {' and '.join(bad)}", cure)
    elif (reason := blown_up(run)) is not None:
        cure = "nothing to do: a fit excludes it; its peak lr marks the upper bound"
        yield advice(FindingKind.DIVERGED, run.name, f"{reason}, peak lr {run.peak_lr:.3g}", cure)


def cut_short(run: Run) -> Iterator[Finding]:
    """Stopped before its planned end."""
    if run.status is Status.CUT_SHORT:
        what = f"was cut short at step {run.last_step} of {run.total_steps}"
        cure = "nothing to do if stopped on purpose; else resume it: only whole runs show where a schedule leads"
        yield advice(FindingKind.CUT_SHORT, run.name, what, cure)


def too_short(run: Run) -> Iterator[Finding]:
    """Too few points to see a curve."""
    points, cure = len(run.loss), "log the loss more often (a hundred points a run is plenty)"
    if points < FEWEST_POINTS:
        what = f"has only {points} loss points, and a curve needs {FEWEST_POINTS} at the very least"
        yield error(FindingKind.TOO_SHORT, run.name, what, cure)
    elif points < FEW_POINTS:
        what = f"has only {points} loss points"
        yield warning(FindingKind.TOO_SHORT, run.name, what, cure)


def merged_steps(run: Run) -> Iterator[Finding]:
    """What the import did to the data."""
    for note in run.notes:
        if note.kind is NoteKind.REPEATED_STEPS:
            cure = "if it was not resumed, two runs may share one name: give each its own (--run COLUMN)"
            yield warning(FindingKind.REPEATED_STEPS, run.name, note, cure)
        elif note.kind in _WORTH_A_LOOK:
            yield advice(FindingKind.IMPORT_NOTE, run.name, note, "check the table if that is not what you meant")


def sampled(run: Run) -> Iterator[Finding]:
    """Histories that a tracker thinned out, or with holes."""
    gaps = np.diff(run.loss.steps)
    if len(gaps) < 2 * FEW_POINTS:
        return
    usual = float(np.median(gaps))
    cure = "export the whole history (wandb: run.scan_history() instead of run.history()); peaks are lost otherwise"
    share = float(np.mean(np.abs(gaps - usual) <= 0.1 * usual))
    if len(run.loss) in SAMPLE_SIZES and run.last_step > 1.5 * len(run.loss) and np.any(gaps != usual):
        what = f"has exactly {len(run.loss)} points for {run.last_step} steps"
        yield warning(FindingKind.SAMPLED, run.name, what, cure)
    elif share < 0.5:
        what = f"is logged at uneven steps ({gaps.min()} to {gaps.max()} apart), as if sampled"
        yield warning(FindingKind.SAMPLED, run.name, what, cure)
    elif gaps.max() > 20 * usual:
        at = int(np.argmax(gaps))
        what = f"has no loss between steps {run.loss.steps[at]} and {run.loss.steps[at + 1]}"
        cure = "import the missing part of the log too: pieces of one run are merged"
        yield warning(FindingKind.HOLE, run.name, what, cure)


def contradictory(run: Run) -> Iterator[Finding]:
    """Facts of the run's scale that contradict each other, or cannot be."""
    for trouble in read_scale(run).troubles:
        yield warning(FindingKind.CONTRADICTORY, run.name, trouble.what, trouble.fix)


CHECKS: tuple[Check, ...] = (
    *(missing_lr, incomplete, late_start, missing_metric, not_finite, cut_short, too_short, merged_steps, sampled),
    contradictory,
)
OF_DIVERGED: tuple[Check, ...] = (not_finite, merged_steps, contradictory)
"""A diverged run need not be whole: it may well have ended before its first validation."""


def findings_of(run: Run) -> Iterator[Finding]:
    for check in OF_DIVERGED if run.status is Status.DIVERGED else CHECKS:
        yield from check(run)


def _first_bad(run: Run) -> Iterator[tuple[str, float, int]]:
    series: tuple[tuple[str, Series], ...] = (("loss", run.loss), (run.metric_name, run.metric))
    for word, curve in series:
        bad = np.flatnonzero(~np.isfinite(curve.values))
        if len(bad):
            yield word, float(curve.values[bad[0]]), int(curve.steps[bad[0]])
