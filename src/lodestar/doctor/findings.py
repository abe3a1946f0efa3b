"""What the doctor says (`Finding`) and the little it remembers of each run (`Digest`), so that stores may be large."""

import dataclasses
import enum
import functools
import hashlib

from lodestar.doctor.diverged import LEAST_POINTS, Ending, ending, why_unusable
from lodestar.runs.run import Direction, Run, Status
from lodestar.runs.scale import Scale, scale_of
from lodestar.schedules import Shape, recognise

FEWEST_POINTS = LEAST_POINTS
"""A run with fewer losses than this cannot be used."""


class Severity(enum.StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class FindingKind(enum.StrEnum):
    """What a finding is about."""

    MISSING_LR = "missing lr"
    MISSING_METRIC = "missing metric"
    CONSTANT_METRIC = "constant metric"
    FEW_METRICS = "few metrics"
    DIVERGED = "diverged"
    NOT_FINITE = "not finite"
    INCOMPLETE = "incomplete"
    LATE_START = "late start"
    CUT_SHORT = "cut short"
    TOO_SHORT = "too short"
    REPEATED_STEPS = "repeated steps"
    IMPORT_NOTE = "import note"
    SAMPLED = "sampled"
    HOLE = "hole"
    STUCK = "stuck"
    TOO_FEW = "too few"
    MIXED = "mixed"
    DIFFERENT_LENGTHS = "different lengths"
    ONE_SHAPE = "one shape"
    LR_RANGE = "lr range"
    ONE_SEED = "one seed"
    COPIES = "copies"
    SEVERAL_SIZES = "several sizes"
    ONE_SIZE = "one size"
    MISSING_SIZE = "missing size"
    CONTRADICTORY = "contradictory facts"
    FEW_SIZES = "few sizes"
    FEW_AT_A_SIZE = "few runs at a size"
    NOT_BRACKETED = "best rate not bracketed"
    FAR_JOB = "job far outside"
    """A job's size, batch or length that the runs do not reach."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing to know: about `run`, or about all of them together if that is None."""

    severity: Severity
    check: FindingKind
    run: str | None
    sentence: str
    cure: str

    def as_dict(self) -> dict[str, object]:
        return {**dataclasses.asdict(self), "severity": str(self.severity), "check": str(self.check)}


error = functools.partial(Finding, Severity.ERROR)
warning = functools.partial(Finding, Severity.WARNING)
advice = functools.partial(Finding, Severity.ADVICE)


@dataclasses.dataclass(frozen=True)
class Digest:
    """A run in a few numbers."""

    name: str
    status: Status
    direction: Direction
    metric_name: str
    workload: str
    seed: int | None
    shape: Shape
    peak_lr: float
    final_metric: float
    total_steps: int
    usable: bool
    ending: Ending | None  # of a usable run
    fingerprint: bytes
    task: str | None
    scale: Scale

    @classmethod
    def of(cls, run: Run) -> "Digest":
        """The digest of a run. Usable: by the rules of a fit."""
        usable = why_unusable(run) is None
        curves = (run.loss.values, run.metric.values, run.lr.values)
        same = ("name", "status", "direction", "metric_name", "peak_lr", "final_metric", "total_steps")
        return cls(
            **{key: getattr(run, key) for key in same},
            workload=run.facts.workload,
            seed=run.facts.seed,
            task=run.facts.task,
            scale=scale_of(run),
            shape=recognise(run.lr.steps, run.lr.values, run.total_steps),
            usable=usable,
            ending=ending(run) if usable else None,
            fingerprint=hashlib.blake2b(b"".join(curve.tobytes() for curve in curves), digest_size=16).digest(),
        )
