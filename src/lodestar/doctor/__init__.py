"""The doctor: what is wrong or thin in a collection of runs, in sentences with cures, and which runs would help."""

from lodestar.doctor.coverage import Coverage as Coverage
from lodestar.doctor.coverage import JobScale as JobScale
from lodestar.doctor.diagnosis import Diagnosis as Diagnosis
from lodestar.doctor.diagnosis import diagnose as diagnose
from lodestar.doctor.findings import Finding as Finding
from lodestar.doctor.findings import FindingKind as FindingKind
from lodestar.doctor.findings import Severity as Severity
from lodestar.doctor.suggest import Suggestion as Suggestion
