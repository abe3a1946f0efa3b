"""Tuning from nothing: trials one after another, each where the most is to be gained, within a budget of full runs."""

from lodestar.tuning.choose import Choice as Choice
from lodestar.tuning.propose import Prospect as Prospect
from lodestar.tuning.propose import propose as propose
from lodestar.tuning.tune import Round as Round
from lodestar.tuning.tune import TuneResult as TuneResult
from lodestar.tuning.tune import tune as tune
