"""Simple forecasters to be beaten, one a file, all behind `AbstractSimple`. A new one: a file, a word in `SIMPLE`."""

from lodestar.evaluate.simple.interface import AbstractSimple as AbstractSimple
from lodestar.evaluate.simple.last_value import LastValue as LastValue
from lodestar.evaluate.simple.nearest_run import NearestRun as NearestRun
from lodestar.evaluate.simple.power_law import PowerLaw as PowerLaw

SIMPLE: tuple[type[AbstractSimple], ...] = (LastValue, NearestRun, PowerLaw)
