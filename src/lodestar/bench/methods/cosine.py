"""Cosine decay from the peak to zero. Tuned over the recipe's five rates."""

from lodestar.bench.methods.schedule import ScheduleMethod
from lodestar.sweep.shapes import cosine

METHOD = ScheduleMethod("cosine", "cosine decay to zero", "paper", cosine)
