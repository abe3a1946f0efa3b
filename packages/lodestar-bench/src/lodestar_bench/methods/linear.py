"""Warm-up for 10 % of the run, then a straight line to zero. Tuned over the recipe's five rates."""

from lodestar.schedules import linear
from lodestar_bench.methods.schedule import ScheduleMethod

METHOD = ScheduleMethod("linear", "warm-up + linear to zero", "modern", linear)
