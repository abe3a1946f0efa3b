"""Cosine OneCycle: up for 30 % of the run, down for the rest. Tuned over the recipe's five rates."""

from lodestar.schedules import onecycle
from lodestar_bench.methods.schedule import ScheduleMethod

METHOD = ScheduleMethod("onecycle", "cosine OneCycle", "paper", onecycle)
