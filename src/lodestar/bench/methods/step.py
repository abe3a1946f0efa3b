"""Step decay: halved after each third of the run. Tuned over the recipe's five rates."""

from lodestar.bench.methods.schedule import ScheduleMethod
from lodestar.sweep.shapes import step_decay

METHOD = ScheduleMethod("step", "step decay, halved every third", "paper", step_decay)
