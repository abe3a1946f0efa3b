"""Sweeps: many runs of your own training function, here or on a cluster, into a run store; a kill loses nothing."""

from lodestar.schedules import PAPER_SHAPES as PAPER_SHAPES
from lodestar.schedules import SHAPES as SHAPES
from lodestar.schedules import Schedule as Schedule
from lodestar.sweep.call import run_sweep as run_sweep
from lodestar.sweep.events import Done as Done
from lodestar.sweep.events import Event as Event
from lodestar.sweep.events import Failed as Failed
from lodestar.sweep.events import FailureKind as FailureKind
from lodestar.sweep.events import Reported as Reported
from lodestar.sweep.events import Started as Started
from lodestar.sweep.executors.executor import AbstractExecutor as AbstractExecutor
from lodestar.sweep.executors.local import LocalExecutor as LocalExecutor
from lodestar.sweep.progress import SweepProgress as SweepProgress
from lodestar.sweep.spaces import AbstractSpace as AbstractSpace
from lodestar.sweep.spaces import Grid as Grid
from lodestar.sweep.spaces import QuasiRandom as QuasiRandom
from lodestar.sweep.spaces import Range as Range
from lodestar.sweep.spaces import TrialList as TrialList
from lodestar.sweep.spaces import paper_grid as paper_grid
from lodestar.sweep.sweep import SweepResult as SweepResult
from lodestar.sweep.sweep import run_trials as run_trials
from lodestar.sweep.trial import Job as Job
from lodestar.sweep.trial import ReportFunction as ReportFunction
from lodestar.sweep.trial import TrainingFunction as TrainingFunction
from lodestar.sweep.trial import Trial as Trial

AbstractPlace, LocalPlace = AbstractExecutor, LocalExecutor  # these and the three below: names of release one
Listed, Report, Standing = TrialList, ReportFunction, SweepProgress
