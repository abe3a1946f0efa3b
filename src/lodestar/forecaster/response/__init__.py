"""How training responds to a known schedule: a loss law, Gaussian processes on a schedule's history, past stands."""

from lodestar.forecaster.response.history import CELLS as CELLS
from lodestar.forecaster.response.history import on_cells as on_cells
from lodestar.forecaster.response.response import Finals as Finals
from lodestar.forecaster.response.response import Observed as Observed
from lodestar.forecaster.response.response import Response as Response
