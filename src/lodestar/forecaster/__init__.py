"""Forecaster: the file a fit leaves, and the NumPy runtime that redraws a whole run from a piece of it. No JAX."""

from lodestar.forecaster.architecture import Architecture as Architecture
from lodestar.forecaster.bands import Bands as Bands
from lodestar.forecaster.forecast import Band as Band
from lodestar.forecaster.forecast import Forecast as Forecast
from lodestar.forecaster.forecast import Piece as Piece
from lodestar.forecaster.forecaster import Forecaster as Forecaster
from lodestar.forecaster.forecaster import Ranges as Ranges
from lodestar.forecaster.forecaster import Trajectories as Trajectories
from lodestar.forecaster.forecaster import load as load
from lodestar.forecaster.library import Library as Library
from lodestar.forecaster.network import Network as Network
from lodestar.forecaster.network import weight_shapes as weight_shapes
