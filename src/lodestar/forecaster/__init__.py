"""The file a fit leaves, and the NumPy runtime that forecasts a whole run from its observed part. No JAX."""

from lodestar.forecaster.architecture import Architecture as Architecture
from lodestar.forecaster.forecast import Context as Context
from lodestar.forecaster.forecast import Forecast as Forecast
from lodestar.forecaster.forecast import Interval as Interval
from lodestar.forecaster.forecaster import Forecaster as Forecaster
from lodestar.forecaster.forecaster import Ranges as Ranges
from lodestar.forecaster.forecaster import Trajectories as Trajectories
from lodestar.forecaster.forecaster import load as load
from lodestar.forecaster.intervals import Intervals as Intervals
from lodestar.forecaster.network import Network as Network
from lodestar.forecaster.network import weight_shapes as weight_shapes
from lodestar.forecaster.reference_runs import ReferenceRuns as ReferenceRuns

# Names of release one.
Piece, Band, Bands, Library = Context, Interval, Intervals, ReferenceRuns
