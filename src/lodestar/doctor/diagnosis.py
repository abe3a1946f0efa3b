"""`diagnose`: looks through runs one at a time and says what it found. Memory holds one run, and a digest of each."""

import collections
import dataclasses
from collections.abc import Callable, Iterable

from lodestar.doctor import all_runs, each_run
from lodestar.doctor.coverage import Coverage, JobScale, cover
from lodestar.doctor.diverged import stuck_beside
from lodestar.doctor.findings import Digest, Finding, FindingKind, Severity, advice
from lodestar.doctor.suggest import Suggestion, suggest
from lodestar.runs.run import Run

_STUCK_CURE = "nothing to do: a fit excludes it; its peak lr marks the upper bound"
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.ADVICE: 2}


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Findings, the worst first and those about all runs before single ones; and runs worth making."""

    runs: int
    usable: int
    findings: tuple[Finding, ...]
    suggestions: tuple[Suggestion, ...]
    shapes: dict[str, int]
    coverage: Coverage | None = None  # of a job that was asked about

    @property
    def healthy(self) -> bool:
        """Whether a fit can go ahead: nothing about the whole collection is an error."""
        return not any(f.severity is Severity.ERROR and f.run is None for f in self.findings)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity is severity)

    def as_dict(self) -> dict[str, object]:
        return {
            "runs": self.runs,
            "usable": self.usable,
            "healthy": self.healthy,
            "shapes": self.shapes,
            "findings": [finding.as_dict() for finding in self.findings],
            "suggestions": [suggestion.as_dict() for suggestion in self.suggestions],
            "coverage": None if self.coverage is None else self.coverage.as_dict(),
        }


def diagnose(
    runs: Iterable[Run], progress: Callable[[int], None] | None = None, *, job: JobScale | None = None
) -> Diagnosis:
    """Examine every run, then all of them together; and whether they cover `job`, another one.

    `progress(done)` is called after each run.
    """
    findings: list[Finding] = []
    digests: list[Digest] = []
    for number, run in enumerate(runs, 1):
        findings += each_run.findings_of(run)
        digests.append(Digest.of(run))
        if progress:
            progress(number)
    stuck = stuck_beside([digest.ending for digest in digests if digest.ending])
    digests = [dataclasses.replace(digest, usable=digest.usable and digest.name not in stuck) for digest in digests]
    findings += [advice(FindingKind.STUCK, name, reason, _STUCK_CURE) for name, reason in stuck.items()]
    for whole in all_runs.CHECKS:
        findings += whole(digests)
    coverage, about_job = (None, []) if job is None or not job.asked else cover(digests, job)
    findings += about_job
    findings.sort(key=lambda finding: (_ORDER[finding.severity], finding.run is not None, finding.check))
    shapes = dict(collections.Counter(str(digest.shape) for digest in digests))
    usable = sum(digest.usable for digest in digests)
    return Diagnosis(len(digests), usable, tuple(findings), suggest(digests), shapes, coverage)
