"""From runs to arrays a model can be fitted to, with a report of every run excluded.

Comes in: runs, iterated twice, one at a time. Goes out: `Prepared`: values in model units (runs, points, 3), a mask,
and the `Recipe` that made them. Large sets live in an unnamed temporary file mapped into memory, so that memory does
not grow with the store.
"""

import dataclasses
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import PrepareError
from lodestar.fitting.survey import Survey, survey
from lodestar.forecaster.axes import RunMask, RunValues
from lodestar.forecaster.preprocessing.normaliser import CHANNELS, METRIC, Channel, Normaliser
from lodestar.forecaster.preprocessing.recipe import Points, Recipe
from lodestar.forecaster.preprocessing.transform import (
    Kind,
    MetricKind,
    Transform,
    loss_transform,
    lr_transform,
    metric_transform,
)
from lodestar.forecaster.scale_law import QUANTITIES
from lodestar.runs.run import Run

DEFAULT_SMOOTHING = 0.03
_IN_MEMORY = 64 * 2**20  # bytes; larger arrays go to a temporary file
_BLOCK = 256  # runs handled at a time


@dataclasses.dataclass(frozen=True)
class Prepared:
    """Runs as arrays. `excluded` pairs each run left out with the reason."""

    recipe: Recipe
    names: tuple[str, ...]
    values: RunValues  # model units, zero where the mask is False
    mask: RunMask
    total_steps: NDArray[np.int64]  # (runs,)
    groups: tuple[str, ...]  # schedule and rate of each run, where known
    workloads: tuple[str, ...]  # task and size of each run, where known
    metric_name: str
    finals: NDArray[np.float64]  # (runs,): the last metric as logged, user's units; NaN for a run that was cut short
    excluded: tuple[tuple[str, str], ...] = ()
    job: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # tasks, optimizers, ...: `JobSurvey`
    scales: Mapping[str, NDArray[np.float64]] = dataclasses.field(default_factory=dict)  # (runs,) each, NaN: not stated

    def __len__(self) -> int:
        return len(self.names)

    def pick(self, index: NDArray[np.int64]) -> "Prepared":
        """A part of the runs, same recipe."""
        return dataclasses.replace(
            self,
            names=tuple(self.names[i] for i in index),
            values=self.values[index],
            mask=self.mask[index],
            total_steps=self.total_steps[index],
            groups=tuple(self.groups[i] for i in index),
            workloads=tuple(self.workloads[i] for i in index),
            finals=self.finals[index],
            scales={name: values[index] for name, values in self.scales.items()},
        )

    def natural(self) -> NDArray[np.float64]:
        """The values in the user's units, smoothed; NaN where nothing was observed."""
        return np.where(self.mask, self.recipe.normaliser.inverse(self.values), np.nan)

    def final_metric(self) -> NDArray[np.float64]:
        """Each run's last observed metric, smoothed, in the user's units."""
        last = self.mask.shape[1] - 1 - np.argmax(self.mask[:, ::-1, METRIC], axis=1)
        return self.recipe.normaliser.metric.inverse(self.values[np.arange(len(self)), last, METRIC])


def prepare(
    runs: Iterable[Run],
    *,
    points: int | None = None,
    smoothing: float = DEFAULT_SMOOTHING,
    metric_kind: MetricKind = "auto",
    recipe: Recipe | None = None,
) -> Prepared:
    """Exclude unusable runs, resample, smooth, transform, normalise.

    With `recipe` the runs are brought onto an existing forecaster's grid and scale; otherwise one is made from them.
    """
    again = tuple(runs) if isinstance(runs, Iterator) else runs
    found = survey(again)
    if recipe is not None and recipe.direction is not found.direction:
        raise PrepareError(
            f"the forecaster's metric is to be {recipe.direction}imised, these runs' is to be {found.direction}imised. "
            "Fix: use runs of the same metric"
        )
    blank = Normaliser(*(Channel(Transform(Kind.IDENTITY)) for _ in CHANNELS))
    draft = recipe or Recipe(points or found.default_points(), smoothing, blank, found.direction)
    values, mask, finals = _on_grid(again, found, draft)
    if recipe is None:
        draft = dataclasses.replace(draft, normaliser=_normaliser(values, mask, found, metric_kind))
    for block in _blocks(len(values)):
        values[block] = draft.normalised(Points(values[block], mask[block]))
    return Prepared(
        recipe=draft,
        names=tuple(run.ending.name for run in found.usable),
        values=values,
        mask=mask,
        total_steps=np.array([run.total_steps for run in found.usable], dtype=np.int64),
        groups=tuple(run.group for run in found.usable),
        workloads=tuple(run.ending.workload for run in found.usable),
        metric_name=found.usable[0].ending.metric_name,
        finals=finals,
        excluded=found.excluded,
        job=found.job,
        scales=_scales(found),
    )


def _scales(found: Survey) -> dict[str, NDArray[np.float64]]:
    """What each usable run states of its scale; quantities that no run states are left out."""
    stated = [run.scale for run in found.usable]
    columns = {name: np.array([scale.get(name) or np.nan for scale in stated], dtype=np.float64) for name in QUANTITIES}
    return {name: values for name, values in columns.items() if np.isfinite(values).any()}


def _on_grid(
    runs: Iterable[Run], found: Survey, recipe: Recipe
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """The usable runs on the grid, smoothed, in the user's units; and the last metric of each as it was logged."""
    shape = (len(found.usable), recipe.points, len(CHANNELS))
    values, mask = _array(shape, np.dtype(np.float64)), _array(shape, np.dtype(np.bool_))
    finals = np.full(len(found.usable), np.nan)
    wanted = {run.ending.name: place for place, run in enumerate(found.usable)}
    for run in runs:
        place = wanted.get(run.name)
        if place is not None:
            made = recipe.to_points(run.loss, run.metric, run.lr, run.total_steps)
            values[place], mask[place] = made.values, made.mask
            if made.mask[-1, METRIC]:
                finals[place] = run.metric.values[-1]
    return values, mask, finals


def _array(shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
    if math.prod(shape) * dtype.itemsize <= _IN_MEMORY:
        return np.zeros(shape, dtype)
    # The file has no name and goes with the array.
    with tempfile.TemporaryFile(prefix="lodestar-") as stream:
        return np.memmap(stream, dtype=dtype, mode="w+", shape=shape)


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, count, _BLOCK))


def _normaliser(values: NDArray, mask: NDArray, found: Survey, metric_kind: MetricKind) -> Normaliser:
    """Transforms by what the channels hold, then mean and spread of the transformed values, block by block."""
    seen = [_extremes(values, mask, channel) for channel in range(len(CHANNELS))]
    transforms = (
        loss_transform(seen[0]),
        metric_transform(seen[1], found.direction, metric_kind),
        lr_transform([run.ending.peak_lr for run in found.usable]),
    )
    return Normaliser(*(_channel(t, values, mask, channel) for channel, t in enumerate(transforms)))


def _extremes(values: NDArray, mask: NDArray, channel: int) -> NDArray[np.float64]:
    """Lowest, lowest above zero and highest of a channel: all a transform is chosen by."""
    found: list[float] = []
    for block in _blocks(len(values)):
        seen = values[block][..., channel][mask[block][..., channel]]
        positive = seen[seen > 0]
        if seen.size:
            found += [float(seen.min()), float(seen.max())]
        if positive.size:
            found.append(float(positive.min()))
    return np.array(found)


def _channel(transform: Transform, values: NDArray, mask: NDArray, channel: int) -> Channel:
    count, total, square = 0, 0.0, 0.0
    for block in _blocks(len(values)):
        y = transform.forward(values[block][..., channel][mask[block][..., channel]])
        count, total, square = count + y.size, total + float(y.sum()), square + float((y**2).sum())
    if count == 0:
        return Channel(transform)
    mean = total / count
    std = math.sqrt(max(square / count - mean**2, 0.0))
    return Channel(transform, mean, std if std > 1e-5 * max(1.0, abs(mean)) else 1.0)
