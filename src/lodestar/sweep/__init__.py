"""Sweeps: many runs of your own training function, here or on a cluster, into a run store; a kill loses nothing."""

from lodestar.schedules import PAPER_SHAPES, SHAPES, Schedule
from lodestar.sweep.call import run_sweep
from lodestar.sweep.events import Done, Event, Failed, Reported, Started
from lodestar.sweep.executors.executor import AbstractExecutor
from lodestar.sweep.executors.local import LocalExecutor
from lodestar.sweep.progress import SweepProgress
from lodestar.sweep.spaces import AbstractSpace, Grid, QuasiRandom, Range, TrialList, paper_grid
from lodestar.sweep.sweep import SweepResult, run_trials
from lodestar.sweep.trial import Job, ReportFunction, TrainingFunction, Trial

AbstractPlace, LocalPlace = AbstractExecutor, LocalExecutor  # these and the three below: names of release one
Listed, Report, Standing = TrialList, ReportFunction, SweepProgress

__all__ = [
    "PAPER_SHAPES",
    "SHAPES",
    "AbstractExecutor",
    "AbstractPlace",
    "AbstractSpace",
    "Done",
    "Event",
    "Failed",
    "Grid",
    "Job",
    "Listed",
    "LocalExecutor",
    "LocalPlace",
    "QuasiRandom",
    "Range",
    "Report",
    "ReportFunction",
    "Reported",
    "Schedule",
    "Standing",
    "Started",
    "SweepProgress",
    "SweepResult",
    "TrainingFunction",
    "Trial",
    "TrialList",
    "paper_grid",
    "run_sweep",
    "run_trials",
]
