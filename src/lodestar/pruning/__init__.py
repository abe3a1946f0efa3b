"""Pruning by forecast: stops a trial of a sweep that stands where the best one hardly ever stands.

    pruner = Pruner()
    pruner.learn(finished_runs)                   # a fraction of a second; `Background` does it in a thread
    verdict = pruner.judge(running_run, schedule) # keep or stop, and why

Knows neither Optuna nor Ray, nor our own sweep: they call it. Works with trials whose schedule is known to the end, and
with any others.
"""

from lodestar.pruning.background import Background as Background
from lodestar.pruning.finals import Final as Final
from lodestar.pruning.finals import FinalModel as FinalModel
from lodestar.pruning.finals import fit_finals as fit_finals
from lodestar.pruning.pruner import Pruner as Pruner
from lodestar.pruning.pruner import Verdict as Verdict
from lodestar.pruning.pruner import VerdictKind as VerdictKind
