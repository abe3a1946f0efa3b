"""Cosine OneCycle: up for 30 % of the run, down for the rest. Tuned over the recipe's five rates."""

from lodestar.bench.methods.schedule import ScheduleMethod
from lodestar.sweep.shapes import onecycle

METHOD = ScheduleMethod("onecycle", "cosine OneCycle", "paper", onecycle)
