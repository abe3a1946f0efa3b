"""Warm-up, stable, decay: 10 % up, a plateau, the last 20 % down to zero. Tuned over the recipe's five rates."""

from lodestar.bench.methods.schedule import ScheduleMethod
from lodestar.sweep.shapes import warmup_stable_decay

METHOD = ScheduleMethod("wsd", "warm-up, stable, decay", "modern", warmup_stable_decay)
