"""Warm-up for 10 % of the run, then a straight line to zero. Tuned over the recipe's five rates."""

from lodestar.bench.methods.schedule import ScheduleMethod
from lodestar.sweep.shapes import warmup_linear

METHOD = ScheduleMethod("linear", "warm-up + linear to zero", "modern", warmup_linear)
