"""Step decay: halved after each third of the run. Tuned over the recipe's five rates."""

from lodestar.schedules import step
from lodestar_bench.methods.schedule import ScheduleMethod

METHOD = ScheduleMethod("step", "step decay, halved every third", "paper", step)
