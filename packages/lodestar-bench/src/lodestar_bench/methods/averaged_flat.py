"""Lodestar's averaged weights without Lodestar: a constant rate after a short warm-up, tuned over the recipe's five.

What steering adds to averaging is the difference between this row and `lodestar`.
"""

from lodestar_bench.methods.schedule import ScheduleMethod
from lodestar_bench.methods.schedule_free import warm_then_flat
from lodestar_bench.optimizers.averaged import averaged

METHOD = ScheduleMethod("averaged", "averaged weights, constant rate", "ours", warm_then_flat, averaged)
