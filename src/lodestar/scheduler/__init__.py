"""The object a training job talks to, and what it decides: encode, perturb, accept, score, average. NumPy only.

Root files are the nouns (`Scheduler`, its `State`, `Settings`, `Clock`, `History`); `steps/` is the algorithm, a file a
step; `safety/` holds caps, guard and gate; `records/` what is kept and logged.
"""

from lodestar.scheduler.records.decision import Decision as Decision
from lodestar.scheduler.records.decision import Winner as Winner
from lodestar.scheduler.records.log import Log as Log
from lodestar.scheduler.records.log import read_log as read_log
from lodestar.scheduler.records.outcome import Outcome as Outcome
from lodestar.scheduler.records.shadow import ShadowScore as ShadowScore
from lodestar.scheduler.safety.gate import MILD as MILD
from lodestar.scheduler.safety.gate import Gate as Gate
from lodestar.scheduler.scheduler import Scheduler as Scheduler
from lodestar.scheduler.settings import DEFAULT as DEFAULT
from lodestar.scheduler.settings import PAPER as PAPER
from lodestar.scheduler.settings import Settings as Settings
from lodestar.schedules.plan import Plan as Plan
