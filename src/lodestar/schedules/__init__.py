"""Schedules: the learning rate of every optimizer step; its families: drawn, recognised, reconstructed, parsed."""

from lodestar.schedules.plan import Plan
from lodestar.schedules.schedule import Schedule, read_polyline

__all__ = ["Plan", "Schedule", "read_polyline"]
