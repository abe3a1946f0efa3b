"""Schedules: the learning rate of every optimizer step.

`Schedule` is one curve; `FAMILIES` are the kinds people use, each callable with a peak and a number of steps; `parse`
reads words for one, `recognise` names a curve, `reconstruct` rebuilds one from a run's config. Imports NumPy only.
"""

from lodestar.schedules.families import (
    FAMILIES,
    PAPER_SHAPES,
    SHAPES,
    Draw,
    constant,
    cosine,
    exponential,
    find,
    inverse_sqrt,
    linear,
    onecycle,
    polynomial,
    step,
    step_decay,
    trapezoid,
    warmup_linear,
    warmup_stable_decay,
    wsd,
)
from lodestar.schedules.family import Family
from lodestar.schedules.parse import parse
from lodestar.schedules.plan import Plan
from lodestar.schedules.recognise import OTHER, UNKNOWN, Shape, recognise
from lodestar.schedules.reconstruct import reconstruct
from lodestar.schedules.schedule import Schedule, read_polyline

__all__ = [
    "FAMILIES",
    "OTHER",
    "PAPER_SHAPES",
    "SHAPES",
    "UNKNOWN",
    "Draw",
    "Family",
    "Plan",
    "Schedule",
    "Shape",
    "constant",
    "cosine",
    "exponential",
    "find",
    "inverse_sqrt",
    "linear",
    "onecycle",
    "parse",
    "polynomial",
    "read_polyline",
    "recognise",
    "reconstruct",
    "step",
    "step_decay",
    "trapezoid",
    "warmup_linear",
    "warmup_stable_decay",
    "wsd",
]
