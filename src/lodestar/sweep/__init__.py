"""Sweeps: many runs of your own training function, here or on a cluster, into a run store; a kill loses nothing."""

from lodestar.sweep.trial import Report, Schedule, TrainingFunction, Trial

__all__ = ["Report", "Schedule", "TrainingFunction", "Trial"]
