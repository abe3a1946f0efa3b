"""Testing: contracts and stand-ins that ship with the package, for our tests and for those who extend it."""

from lodestar.testing.forecasters import random_forecaster as random_forecaster
from lodestar.testing.forecasters import random_weights as random_weights
