"""Prepare: smooth, transform, resample, normalise."""

from lodestar.prepare.dataset import Prepared as Prepared
from lodestar.prepare.dataset import prepare as prepare
from lodestar.prepare.normaliser import CHANNELS as CHANNELS
from lodestar.prepare.normaliser import LOSS as LOSS
from lodestar.prepare.normaliser import LR as LR
from lodestar.prepare.normaliser import METRIC as METRIC
from lodestar.prepare.normaliser import Channel as Channel
from lodestar.prepare.normaliser import Normaliser as Normaliser
from lodestar.prepare.recipe import Points as Points
from lodestar.prepare.recipe import Recipe as Recipe
from lodestar.prepare.transform import Kind as Kind
from lodestar.prepare.transform import Transform as Transform
