"""Planning: the best schedule for a job, by search over schedules that a forecaster judges. NumPy only."""

from lodestar.planning.plan import SchedulePlan as SchedulePlan
from lodestar.planning.plan import plan as plan
from lodestar.planning.space import candidates as candidates
