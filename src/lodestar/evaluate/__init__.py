"""Evaluate: how good is a forecaster on runs it never saw? Plain data; `report` draws it."""

from lodestar.evaluate.evaluation import OURS as OURS
from lodestar.evaluate.evaluation import Evaluation as Evaluation
from lodestar.evaluate.measure import evaluate as evaluate
