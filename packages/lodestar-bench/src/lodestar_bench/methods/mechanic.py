"""Mechanic (Cutkosky et al. 2023): learns the scale of the recipe's own updates, under a cosine.

The value is the base rate that Mechanic's scale multiplies: 1 is the default; in a short run the scale has no time to
grow, and more is better. What is logged is the rate in effect: scale x base rate x cosine.
"""

from lodestar.schedules import cosine
from lodestar_bench.methods.schedule import ScheduleMethod
from lodestar_bench.optimizers.mechanic import mechanic

METHOD = ScheduleMethod(
    "mechanic", "Mechanic under a cosine", "modern", cosine, mechanic, values=(1.0, 1e2, 1e3, 1e4, 1e5)
)
