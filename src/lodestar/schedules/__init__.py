"""Schedules: the learning rate of every optimizer step.

`Schedule` is one curve; `FAMILIES` are the kinds people use, each callable with a peak and a number of steps; `parse`
reads words for one, `recognise` names a curve, `reconstruct` rebuilds one from a run's config. Imports NumPy only.
"""

from lodestar.schedules.families import FAMILIES as FAMILIES
from lodestar.schedules.families import PAPER_SHAPES as PAPER_SHAPES
from lodestar.schedules.families import SHAPES as SHAPES
from lodestar.schedules.families import Draw as Draw
from lodestar.schedules.families import constant as constant
from lodestar.schedules.families import cosine as cosine
from lodestar.schedules.families import exponential as exponential
from lodestar.schedules.families import find as find
from lodestar.schedules.families import inverse_sqrt as inverse_sqrt
from lodestar.schedules.families import linear as linear
from lodestar.schedules.families import onecycle as onecycle
from lodestar.schedules.families import polynomial as polynomial
from lodestar.schedules.families import step as step
from lodestar.schedules.families import step_decay as step_decay
from lodestar.schedules.families import trapezoid as trapezoid
from lodestar.schedules.families import warmup_linear as warmup_linear
from lodestar.schedules.families import warmup_stable_decay as warmup_stable_decay
from lodestar.schedules.families import wsd as wsd
from lodestar.schedules.family import Family as Family
from lodestar.schedules.parse import parse as parse
from lodestar.schedules.plan import Plan as Plan
from lodestar.schedules.recognise import OTHER as OTHER
from lodestar.schedules.recognise import UNKNOWN as UNKNOWN
from lodestar.schedules.recognise import Shape as Shape
from lodestar.schedules.recognise import recognise as recognise
from lodestar.schedules.reconstruct import reconstruct as reconstruct
from lodestar.schedules.schedule import Schedule as Schedule
from lodestar.schedules.schedule import read_polyline as read_polyline
