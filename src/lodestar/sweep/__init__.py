"""Sweeps: many runs of your own training function, here or on a cluster, into a run store; a kill loses nothing."""

from lodestar.schedules import PAPER_SHAPES, SHAPES, Schedule
from lodestar.sweep.call import run_sweep
from lodestar.sweep.executors.local import LocalPlace
from lodestar.sweep.executors.place import AbstractPlace, Done, Event, Failed, Job, Reported, Started
from lodestar.sweep.spaces import AbstractSpace, Grid, Listed, QuasiRandom, Range, paper_grid
from lodestar.sweep.standing import Standing
from lodestar.sweep.sweep import SweepResult, run_trials
from lodestar.sweep.trial import Report, TrainingFunction, Trial

__all__ = [
    "PAPER_SHAPES",
    "SHAPES",
    "AbstractPlace",
    "AbstractSpace",
    "Done",
    "Event",
    "Failed",
    "Grid",
    "Job",
    "Listed",
    "LocalPlace",
    "QuasiRandom",
    "Range",
    "Report",
    "Reported",
    "Schedule",
    "Standing",
    "Started",
    "SweepResult",
    "TrainingFunction",
    "Trial",
    "paper_grid",
    "run_sweep",
    "run_trials",
]
