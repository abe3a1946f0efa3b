"""Preprocessing: smooth, transform, resample, normalise; the same in a fit and in a live job."""

from lodestar.forecaster.preprocessing.normaliser import CHANNELS as CHANNELS
from lodestar.forecaster.preprocessing.normaliser import LOSS as LOSS
from lodestar.forecaster.preprocessing.normaliser import LR as LR
from lodestar.forecaster.preprocessing.normaliser import METRIC as METRIC
from lodestar.forecaster.preprocessing.normaliser import Channel as Channel
from lodestar.forecaster.preprocessing.normaliser import Normaliser as Normaliser
from lodestar.forecaster.preprocessing.recipe import Points as Points
from lodestar.forecaster.preprocessing.recipe import Recipe as Recipe
from lodestar.forecaster.preprocessing.transform import Kind as Kind
from lodestar.forecaster.preprocessing.transform import Transform as Transform
