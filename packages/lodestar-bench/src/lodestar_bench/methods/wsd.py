"""Warm-up, stable, decay: 10 % up, a plateau, the last 20 % down to zero. Tuned over the recipe's five rates."""

from lodestar.schedules import wsd
from lodestar_bench.methods.schedule import ScheduleMethod

METHOD = ScheduleMethod("wsd", "warm-up, stable, decay", "modern", wsd)
