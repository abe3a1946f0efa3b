"""Prodigy (Mishchenko and Defazio 2023): AdamW that estimates its own rate, under a cosine, as its authors advise.

The value is the multiplier on Prodigy's estimate: 1 is the authors' default, and what a user without time would take.
What is logged is the rate in effect: estimate x multiplier x cosine.
"""

from lodestar.schedules import cosine
from lodestar_bench.methods.schedule import ScheduleMethod
from lodestar_bench.optimizers.prodigy import prodigy

METHOD = ScheduleMethod(
    "prodigy", "Prodigy under a cosine", "modern", cosine, prodigy, values=(0.5, 1.0, 2.0, 4.0, 8.0)
)
