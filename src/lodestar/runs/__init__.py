"""Runs: what training jobs left behind, as immutable data."""

from lodestar.runs.run import Direction as Direction
from lodestar.runs.run import Facts as Facts
from lodestar.runs.run import Run as Run
from lodestar.runs.run import Scalar as Scalar
from lodestar.runs.run import Series as Series
from lodestar.runs.run import Status as Status
from lodestar.runs.runset import RunSet as RunSet
from lodestar.runs.store import RunStore as RunStore
from lodestar.runs.summary import RunSummary as RunSummary
