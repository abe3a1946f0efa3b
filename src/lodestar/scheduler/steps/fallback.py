"""The fallback: the running plan goes on. And what it is itself forecast to reach, which a challenger must beat.

Comes in: the planned run and the live loss. Goes out: the metric it leads to when it is read by the same rules as a
candidate. A planned run reaches to the end, so going on needs no new numbers: that is the paper's "extended for another
mu steps".
"""

import math

from lodestar.scheduler.planned_run import PlannedRun
from lodestar.scheduler.steps.matching import NONE, match
from lodestar.scheduler.steps.moment import Moment
from lodestar.scheduler.steps.score import past_end


def own_forecast(planned: PlannedRun, moment: Moment) -> float:
    """The metric the planned run leads to from here, matched like a candidate; NaN if its loss is nowhere near."""
    now, nodes = moment.seen - planned.start, len(planned.lr)
    if not 0 <= now < nodes:
        return math.nan
    first, stop = moment.rule.span(now, nodes)
    found = moment.matches(planned.loss[first:stop])
    at = match(moment.rule, found, planned.lr[first:stop], now, first)
    return math.nan if at == NONE else float(planned.metric[past_end(at + moment.horizon, nodes)])
