"""Do the runs cover a job of another size, batch or length? And which few small runs would settle it?

Comes in: digests of the runs, and the job. Goes out: findings, a verdict, and small runs worth making. The best rate
moves along a straight line in log rate over log size (the law of the response model): three sizes show the line, enough
runs at each show its best rate, and the further the job lies beyond them, the longer they must span.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

from lodestar.doctor.findings import Digest, Finding, FindingKind, advice, warning
from lodestar.doctor.small_runs import FARTHEST, FEWEST_SIZES, SmallRuns, out_of_reach, propose
from lodestar.runs.run import Direction

ENOUGH_AT_A_SIZE = 8
MARGIN = 1.5  # a best rate is bracketed by rates this factor below and above
_NEAR = 1.02  # the same size, but for rounding
WHAT = {"size": "size", "batch": "batch size", "steps": "length in steps"}


@dataclasses.dataclass(frozen=True)
class JobScale:
    """The job that is asked about; `size` is in the measure of the runs (width, else parameters)."""

    size: float | None = None
    batch: float | None = None
    steps: float | None = None

    def __post_init__(self):
        for name, value in vars(self).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a finite number above 0, got {value:g}. Fix: --{name} 1024")

    @property
    def asked(self) -> dict[str, float]:
        return {name: float(value) for name, value in vars(self).items() if value is not None}


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Whether the runs cover the job in all that was asked, and the small runs that would settle it."""

    job: JobScale
    covered: bool
    runs: tuple[SmallRuns, ...]

    def as_dict(self) -> dict[str, object]:
        return {"job": self.job.asked, "covered": self.covered, "runs": [run.as_dict() for run in self.runs]}


def cover(digests: Sequence[Digest], job: JobScale) -> tuple[Coverage, list[Finding]]:
    """The verdict, and what it rests on."""
    findings: list[Finding] = []
    wanted: list[SmallRuns] = []
    covered = True
    for name, value in job.asked.items():
        tried = Tried.of(name, digests)
        found = list(_findings(tried, value))
        covered = covered and not any(finding.severity == "warning" for finding in found)
        findings += found
        wanted += propose(name, value, tried.peaks(), needs_of(tried, value)) if found else ()
    return Coverage(job, covered, tuple(wanted)), findings


@dataclasses.dataclass(frozen=True)
class Tried:
    """The values of one dimension that the runs have, smallest first, with the runs at each."""

    name: str
    measure: str
    runs: dict[float, list[Digest]]
    missing: int

    @classmethod
    def of(cls, name: str, digests: Sequence[Digest]) -> "Tried":
        measure, values = _values(name, digests)
        known: dict[float, list[Digest]] = {}
        for digest, value in zip(digests, values, strict=True):
            if value is not None:
                known.setdefault(value, []).append(digest)
        return cls(name, measure, dict(sorted(known.items())), sum(value is None for value in values))

    @property
    def usable(self) -> dict[float, list[Digest]]:
        found = {value: [run for run in runs if run.usable] for value, runs in self.runs.items()}
        return {value: runs for value, runs in found.items() if runs}

    def best(self, value: float) -> Digest:
        runs = self.usable[value]
        pick = max if runs[0].direction is Direction.MAX else min
        return pick(runs, key=lambda run: run.final_metric)

    def edge(self, value: float) -> str | None:
        """At which end of the rates tried the best one lies; a run that diverged shows what is too high."""
        best = self.best(value).peak_lr
        if min(run.peak_lr for run in self.usable[value]) > best / MARGIN:
            return "lowest"
        highest = max(run.peak_lr for run in self.runs[value] if math.isfinite(run.peak_lr))
        return "highest" if highest < best * MARGIN else None

    def peaks(self) -> dict[float, float]:
        """The best run's peak at each value."""
        return {value: self.best(value).peak_lr for value in self.usable}


def needs_of(tried: Tried, value: float) -> dict[float, tuple[int, str | None]]:
    """For each value tried: runs that it lacks, and the end at which its best rate is not bracketed."""
    needs = {at: (max(ENOUGH_AT_A_SIZE - len(runs), 0), tried.edge(at)) for at, runs in tried.usable.items()}
    return {at: need for at, need in needs.items() if need != (0, None) and not _same(at, value)}


def _findings(tried: Tried, value: float) -> Iterator[Finding]:
    what, measure = WHAT[tried.name], tried.measure
    values = list(tried.usable)
    if not values:
        cure = f"name it at import (--fact {measure}=KEY), or sweep small ones (see below)"
        yield warning(
            FindingKind.MISSING_SIZE, None, f"No usable run states its {what}: the job cannot be placed.", cure
        )
        return
    yield from _place(tried, value)
    if any(_same(value, at) for at in values):
        return
    if len(values) < FEWEST_SIZES and not values[0] < value < values[-1]:
        count = f"{len(values)} value{'s' * (len(values) > 1)} of {measure} ({', '.join(f'{at:g}' for at in values)})"
        sentence = f"The runs have {count}; a line through them needs {FEWEST_SIZES}."
        yield warning(FindingKind.FEW_SIZES, None, sentence, "make the small runs listed below")
    for at, runs in tried.usable.items():
        if len(runs) < ENOUGH_AT_A_SIZE:
            sentence = f"At {measure} {at:g} there are {len(runs)} usable runs, too few to find its best rate."
            cure = f"at least {ENOUGH_AT_A_SIZE} at each, with rates of their own"
            yield warning(FindingKind.FEW_AT_A_SIZE, None, sentence, cure)
        elif end := tried.edge(at):
            best, side = tried.best(at).peak_lr, "below" if end == "lowest" else "above"
            sentence = (
                f"At {measure} {at:g} the best of {len(runs)} runs has about the {end} peak lr tried ({best:.2g})."
            )
            yield warning(FindingKind.NOT_BRACKETED, None, sentence, f"try rates {side} it (see below)")


def _place(tried: Tried, value: float) -> Iterator[Finding]:
    """Where the job lies: within, beyond, or out of reach."""
    low, high = min(tried.usable), max(tried.usable)
    what, measure = WHAT[tried.name], tried.measure
    span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    if low / _NEAR <= value <= high * _NEAR:
        return
    times = value / high if value > high else low / value
    beyond = (
        f"{times:.3g} times {'the largest' if value > high else 'below the smallest'} in the runs ({measure} {span})"
    )
    sentence = f"The job's {what} {value:g} is {beyond}."
    if times > FARTHEST:
        why = f"{sentence} Beyond {FARTHEST:g} times, no runs are called enough."
        yield warning(FindingKind.FAR_JOB, None, why, "sweep larger ones too, up to a tenth of the job at least")
    elif len(tried.usable) > 1 and out_of_reach(value, low, high):
        why = f"{sentence} That is far for runs that span a factor of {high / low:.3g}."
        yield warning(FindingKind.FAR_JOB, None, why, "sweep larger ones too (see below)")
    else:
        yield advice(FindingKind.FAR_JOB, None, sentence, "watch the first part of the run: it corrects the plan")


def _values(name: str, digests: Sequence[Digest]) -> tuple[str, list[float | None]]:
    if name == "batch":
        return "batch_size", [digest.scale.batch_size for digest in digests]
    if name == "steps":
        return "total_steps", [digest.scale.total_steps for digest in digests]
    measure = "width" if any(digest.scale.width is not None for digest in digests) else "parameters"
    return measure, [getattr(digest.scale, measure) for digest in digests]


def _same(one: float, other: float) -> bool:
    return max(one, other) <= _NEAR * min(one, other)
