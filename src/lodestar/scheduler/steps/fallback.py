"""The fallback: the running course goes on. And what it is itself forecast to reach, which a challenger must beat.

Comes in: the running course and the live loss. Goes out: the metric the course leads to when it is read by the same
rules as a candidate. Every course reaches to the end of the run, so going on needs no new numbers: that is the paper's
"extended for another mu steps".
"""

import math

from lodestar.scheduler.course import Course
from lodestar.scheduler.steps.accept import matches
from lodestar.scheduler.steps.matching import NONE, RULES, match
from lodestar.scheduler.steps.score import past_end


def own_forecast(
    course: Course, seen: int, current: float, tolerance: float, matching: str, reach: int, ahead: int
) -> float:
    """The metric the running course leads to from here, matched like a candidate; NaN if its loss is nowhere near."""
    now = seen - course.start
    if not 0 <= now < len(course.lr):
        return math.nan
    first, stop = RULES[matching].span(now, reach, len(course.lr))
    found = matches(course.loss[first:stop], current, tolerance)
    at = match(matching, found, course.lr[first:stop], now, first)
    return math.nan if at == NONE else float(course.metric[past_end(at + ahead, len(course.lr))])
