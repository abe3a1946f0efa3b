"""The doctor: what is wrong or thin in a collection of runs, in sentences with cures, and which runs would help."""

from lodestar.runs.doctor.diagnosis import Diagnosis as Diagnosis
from lodestar.runs.doctor.diagnosis import diagnose as diagnose
from lodestar.runs.doctor.findings import Finding as Finding
from lodestar.runs.doctor.findings import Severity as Severity
from lodestar.runs.doctor.suggest import Suggestion as Suggestion
