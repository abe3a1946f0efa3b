"""Schedule-free AdamW or SGD (Defazio et al. 2024): a constant rate after a short warm-up, and averaged weights.

Tuned over the recipe's five rates. The warm-up is 5 % of the run (the authors advise one); what is logged is the rate
with it. Validation and test use the averaged weights.
"""

from lodestar.schedules import Schedule, trapezoid
from lodestar_bench.methods.schedule import ScheduleMethod
from lodestar_bench.optimizers.schedule_free import schedule_free

WARMUP = 0.05


def warm_then_flat(peak: float, total_steps: int) -> Schedule:
    """The warm-up, then the peak to the end."""
    return trapezoid(peak, total_steps, warmup=WARMUP, plateau=1 - WARMUP)


METHOD = ScheduleMethod("schedule-free", "schedule-free, averaged weights", "paper", warm_then_flat, schedule_free)
