"""A constant rate. Tuned over the recipe's five rates."""

from lodestar.bench.methods.schedule import ScheduleMethod
from lodestar.sweep.shapes import constant

METHOD = ScheduleMethod("constant", "constant rate", "paper", constant)
