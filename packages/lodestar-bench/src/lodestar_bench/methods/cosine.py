"""Cosine decay from the peak to zero. Tuned over the recipe's five rates."""

from lodestar.schedules import cosine
from lodestar_bench.methods.schedule import ScheduleMethod

METHOD = ScheduleMethod("cosine", "cosine decay to zero", "paper", cosine)
