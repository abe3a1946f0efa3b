"""Runs from where people keep them: one file a tracker, one way of reading them all."""

from lodestar.trackers.tracker import AbstractTracker, Listed, Logged

__all__ = ["AbstractTracker", "Listed", "Logged"]
