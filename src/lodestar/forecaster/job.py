"""What a forecaster knows of the job its training runs did: task, optimizer, metric, ranges, batch and size.

Comes in: a forecaster's facts, recipe and ranges. Goes out: `KnownJob`, with which a live job is compared. Files of
release one hold no tasks, optimizers, batches and sizes: they simply know less. Reading never fails: a fact of another
shape than expected is not known.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster.preprocessing.normaliser import Normaliser
from lodestar.forecaster.preprocessing.recipe import Recipe
from lodestar.forecaster.preprocessing.transform import Kind
from lodestar.runs.run import Direction

Range = tuple[float, float]
MetricUnit = Literal["share", "percent", "loss", "other"]


@dataclasses.dataclass(frozen=True)
class KnownJob:
    """The training runs' job. Empty or None where they did not say; ranges are in the user's units."""

    metric_name: str | None
    direction: Direction
    metric_unit: MetricUnit  # a share in 0..1, per cent, loss-like (never negative, less is better), or other
    loss: Range
    metric: Range
    lr: Range
    tasks: tuple[str, ...] = ()
    optimizers: tuple[str, ...] = ()
    batch_sizes: Range | None = None
    parameters: Range | None = None
    total_steps: Range | None = None
    widths: Range | None = None


def known_job(facts: Mapping[str, Any], recipe: Recipe, low: NDArray, high: NDArray, lr: Range) -> KnownJob:
    """What a forecaster of these parts knows; `low` and `high` (points, 3) are the runs' ranges in model units."""
    name, job, channels = facts.get("metric_name"), facts.get("job"), recipe.normaliser
    job = job if isinstance(job, Mapping) else {}
    return KnownJob(
        name if isinstance(name, str) and name != "metric" else None,  # "metric": a run that does not say
        recipe.direction,
        _unit(channels),
        _natural(channels, 0, low, high),
        _natural(channels, 1, low, high),
        lr,
        _texts(job.get("tasks")),
        _texts(job.get("optimizers")),
        _range(job.get("batch_sizes")),
        _range(job.get("parameters")),
        _range(facts.get("total_steps")),
        _range(job.get("widths")),
    )


def _unit(channels: Normaliser) -> MetricUnit:
    transform = channels.metric.transform
    if transform.kind is Kind.COMPLEMENT:
        return "share" if transform.top <= 1 else "percent"
    return "loss" if transform.kind is Kind.LOG else "other"


def _natural(channels: Normaliser, channel: int, low: NDArray, high: NDArray) -> Range:
    inverse = channels.channels[channel].inverse
    return float(inverse(np.min(low[:, channel]))), float(inverse(np.max(high[:, channel])))


def _texts(value: Any) -> tuple[str, ...]:
    listed = isinstance(value, list | tuple | Mapping)
    return tuple(text for text in value if isinstance(text, str)) if listed else ()


def _range(value: Any) -> Range | None:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    if not all(isinstance(x, int | float) and math.isfinite(x) and x > 0 for x in value):
        return None
    return float(min(value)), float(max(value))
