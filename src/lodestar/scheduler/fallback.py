"""The fallback: the running course goes on. And what it is itself forecast to reach, which a challenger must beat.

Comes in: the running course and the live loss. Goes out: the metric the course leads to when it is read by the same
rules as a candidate. Every course reaches to the end of the run, so going on needs no new numbers: that is the paper's
"extended for another mu steps".
"""

import math

import numpy as np

from lodestar.scheduler.accept import matches
from lodestar.scheduler.course import Course
from lodestar.scheduler.matching import NONE, RULES
from lodestar.scheduler.score import future


def own_forecast(
    course: Course, seen: int, current: float, tolerance: float, matching: str, reach: int, ahead: int
) -> float:
    """The metric the running course leads to from here, matched like a candidate; NaN if its loss is nowhere near."""
    now = seen - course.start
    if not 0 <= now < len(course.lr):
        return math.nan
    lr, loss, metric = (part[None, None, 1:] for part in (course.lr, course.loss, course.metric))
    if loss.shape[-1] == 0:
        return math.nan
    point = RULES[matching](matches(loss, current, tolerance), lr, now - 1, reach)
    return float(np.nan if point[0, 0] == NONE else future(metric, point, ahead)[0, 0])
