"""Checks of all runs together: is there enough, and enough variety, to fit on? One function a check."""

import collections
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from lodestar.doctor.findings import Digest, Finding, FindingKind, Severity, advice, error, warning
from lodestar.runs.run import Status
from lodestar.schedules import OTHER

FEWEST_RUNS = 4  # of a fit
ENOUGH_RUNS = 20
WIDE_GAP = 1.05
"""Neighbouring peak rates further apart than this (in decades) leave a decade uncovered."""

Check = Callable[[Sequence[Digest]], Iterator[Finding]]


def too_few(runs: Sequence[Digest]) -> Iterator[Finding]:
    """Enough usable runs."""
    usable = sum(run.usable for run in runs)
    if not runs:
        yield error(FindingKind.TOO_FEW, None, "There are no runs.", "lodestar import FILES --out STORE")
    elif all(run.status is Status.DIVERGED for run in runs):
        cure = "make runs with a peak lr ten times smaller"
        yield error(FindingKind.TOO_FEW, None, f"All {len(runs)} runs diverged; nothing can be fitted.", cure)
    elif usable < FEWEST_RUNS:
        what = f"{_count(usable, 'run')} of {len(runs)} can be used; a fit needs {FEWEST_RUNS} at the very least."
        yield error(FindingKind.TOO_FEW, None, what, f"see the errors below; then make about {ENOUGH_RUNS} runs")
    elif usable < ENOUGH_RUNS:
        what = f"{usable} of {len(runs)} runs can be used; forecasts get trustworthy from about {ENOUGH_RUNS} on."
        yield warning(FindingKind.TOO_FEW, None, what, "add some of the runs suggested below")


def mixed(runs: Sequence[Digest]) -> Iterator[Finding]:
    """One direction, one metric, one task."""
    directions = collections.Counter(str(run.direction) for run in runs)
    if len(directions) > 1:
        what = f"Some metrics are to be maximised, others minimised ({_tally(directions)})."
        yield error(FindingKind.MIXED, None, what, "keep one metric to a store, or state --direction at import")
    metrics = collections.Counter(run.metric_name for run in runs)
    if len(metrics) > 1:
        what = f"The runs have different metrics ({_tally(metrics)})."
        yield warning(FindingKind.MIXED, None, what, "if these are not the same figure, keep them in two stores")
    tasks = collections.Counter(run.task for run in runs if run.task)
    if len(tasks) > 1:
        what = f"The runs are of different tasks ({_tally(tasks)})."
        cure = "a forecaster for one is sharper: one store each; a fit of several says how well it ranks within each"
        yield advice(FindingKind.MIXED, None, what, cure)


def sizes(runs: Sequence[Digest]) -> Iterator[Finding]:
    """What the runs say of their size: all, the same, several."""
    counts = collections.Counter(run.scale.size for run in runs if run.scale.size is not None)
    known = sum(counts.values())
    if not known:
        return
    listed = _tally(collections.Counter({f"{name} {value:g}": count for (name, value), count in counts.items()}))
    if known < len(runs):
        what = f"{len(runs) - known} of {len(runs)} runs do not state their size; the others have {listed}."
        cure = "name it at import (--fact width=KEY), or keep runs without one in another store"
        yield warning(FindingKind.MISSING_SIZE, None, what, cure)
    if len(counts) > 1:
        what = f"The runs have {len(counts)} sizes ({listed})."
        cure = "lodestar doctor RUNS --size N says whether they cover a job of that size"
        yield advice(FindingKind.SEVERAL_SIZES, None, what, cure)
    elif known > 1:
        what = f"All {known} runs that state a size have the same ({listed})."
        cure = "nothing to do for jobs of this size; for others, sweep two more sizes: lodestar sweep --sizes"
        yield advice(FindingKind.ONE_SIZE, None, what, cure)


def lengths(runs: Sequence[Digest]) -> Iterator[Finding]:
    """Runs of different planned length."""
    counts = collections.Counter(run.total_steps for run in runs)
    if len(counts) < 2 or max(counts) < 1.02 * min(counts):
        return
    short, long = (min(runs, key=lambda run: run.total_steps), max(runs, key=lambda run: run.total_steps))
    what = (
        f"{len(runs)} runs have {len(counts)} different lengths, from {short.total_steps} steps "
        f"({_short(short.name)}) to {long.total_steps} ({_short(long.name)})."
    )
    severity = Severity.WARNING if max(counts) > 2 * min(counts) else Severity.ADVICE
    cure = "runs are stretched to one relative time; compare like with like: keep one length to a store if you can"
    yield Finding(severity, FindingKind.DIFFERENT_LENGTHS, None, what, cure)


def one_shape(runs: Sequence[Digest]) -> Iterator[Finding]:
    """More than one shape of schedule."""
    shapes = collections.Counter(str(run.shape) for run in runs if run.usable)
    if sum(shapes.values()) > 1 and len(shapes) == 1 and str(OTHER) not in shapes:
        what = f"All {sum(shapes.values())} usable runs follow one shape of schedule ({next(iter(shapes))})."
        cure = "a forecaster learns what the lr does only where it varies: add other shapes (see below)"
        yield warning(FindingKind.ONE_SHAPE, None, what, cure)


def rates(runs: Sequence[Digest]) -> Iterator[Finding]:
    """Decades of peak lr covered, without holes."""
    peaks = sorted({run.peak_lr for run in runs if run.usable})
    usable = sum(run.usable for run in runs)
    if usable < 2:
        return
    span = math.log10(peaks[-1] / peaks[0])
    if span < 0.95:
        what = (
            f"Peak learning rates of {usable} usable runs cover {span:.1f} decades ({peaks[0]:.2g} to {peaks[-1]:.2g})."
        )
        yield warning(FindingKind.LR_RANGE, None, what, "cover at least one decade, better two")
    holes = [(low, high) for low, high in itertools.pairwise(peaks) if math.log10(high / low) > WIDE_GAP]
    if holes:
        what = (
            f"No run has a peak lr between {', or between '.join(f'{low:.2g} and {high:.2g}' for low, high in holes)}."
        )
        cure = f"add runs near {', '.join(f'{math.sqrt(low * high):.1g}' for low, high in holes)}"
        yield advice(FindingKind.LR_RANGE, None, what, cure)


def one_seed(runs: Sequence[Digest]) -> Iterator[Finding]:
    """Repeats with another seed show what is noise."""
    seeds = {run.seed for run in runs if run.seed is not None}
    if len(seeds) == 1 and len(runs) > 1:
        what = f"All {len(runs)} runs have one seed ({next(iter(seeds))}): noise cannot be told from the lr's effect."
        yield advice(FindingKind.ONE_SEED, None, what, "repeat two or three runs with another seed")


def copies(runs: Sequence[Digest]) -> Iterator[Finding]:
    """The same curves under two names."""
    seen: dict[bytes, str] = {}
    for run in runs:
        twin = seen.setdefault(run.fingerprint, run.name)
        if twin != run.name:
            what = f"has the very same curves as {_short(twin)}"
            cure = "remove one of them: a copy in both halves of a split flatters the forecaster"
            yield warning(FindingKind.COPIES, run.name, what, cure)


CHECKS: tuple[Check, ...] = (too_few, mixed, sizes, lengths, one_shape, rates, one_seed, copies)


def _tally(counts: "collections.Counter[str]") -> str:
    shown = ", ".join(f"{_short(word)}: {count}" for word, count in counts.most_common(4))
    return shown if len(counts) <= 4 else f"{shown}, ..."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
