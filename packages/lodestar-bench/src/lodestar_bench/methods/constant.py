"""A constant rate. Tuned over the recipe's five rates."""

from lodestar.schedules import constant
from lodestar_bench.methods.schedule import ScheduleMethod

METHOD = ScheduleMethod("constant", "constant rate", "paper", constant)
