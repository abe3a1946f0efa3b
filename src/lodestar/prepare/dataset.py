"""From runs to arrays a model can be fitted to, with a report of every run set aside.

Comes in: a stream of runs. Goes out: `Prepared`: values in model units (runs, points, 3), a mask, and the `Recipe` that
made them.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lodestar._errors import PrepareError
from lodestar.prepare.diverged import stuck_beside, why_unusable
from lodestar.prepare.normaliser import CHANNELS, Channel, Normaliser, fit_channel
from lodestar.prepare.recipe import Points, Recipe
from lodestar.prepare.transform import MetricKind, Transform, loss_transform, lr_transform, metric_transform
from lodestar.runs.run import Direction, Run

DEFAULT_SMOOTHING = 0.03


@dataclasses.dataclass(frozen=True)
class Prepared:
    """Runs as arrays. `aside` pairs each run left out with the reason."""

    recipe: Recipe
    names: tuple[str, ...]
    values: NDArray[np.float64]  # (runs, points, 3), model units, zero where the mask is False
    mask: NDArray[np.bool_]  # (runs, points, 3)
    total_steps: NDArray[np.int64]  # (runs,)
    aside: tuple[tuple[str, str], ...]
    groups: tuple[str, ...] = ()  # schedule and rate of each run, where known

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
            groups=tuple(self.groups[i] for i in index) if self.groups else (),
        )

    def final_metric(self) -> NDArray[np.float64]:
        """Each run's last observed metric, smoothed, in user's units (NaN where none)."""
        metric = self.recipe.normaliser.metric.inverse(self.values[..., 1])
        last = np.array([np.flatnonzero(m)[-1] if m.any() else -1 for m in self.mask[..., 1]])
        return np.where(last >= 0, metric[np.arange(len(last)), np.maximum(last, 0)], np.nan)


def prepare(
    runs: Iterable[Run],
    *,
    points: int | None = None,
    smoothing: float = DEFAULT_SMOOTHING,
    metric_kind: MetricKind = "auto",
    recipe: Recipe | None = None,
) -> Prepared:
    """Set unusable runs aside, resample, smooth, transform, normalise.

    With `recipe` the runs are brought onto an existing forecaster's grid and scale; otherwise one is made from them.
    """
    good, aside = _sort_out(runs)
    if not good:
        reasons = "; ".join(f"{name}: {why}" for name, why in aside[:5])
        raise PrepareError(
            f"no usable run among {len(aside)}"
            + (f" ({reasons})" if aside else "")
            + ". Fix: see what lodestar doctor says of these runs"
        )
    directions = {run.direction for run in good}
    if len(directions) > 1:
        raise PrepareError("these runs mix metrics to be maximised and minimised. Fix: fit on runs of one metric")
    direction = directions.pop()
    if recipe is None:
        blank = Normaliser(*(Channel(Transform("identity")) for _ in CHANNELS))  # pyright: ignore[reportArgumentType]
        draft = Recipe(points or default_points(good), smoothing, blank, direction)
        on_grid = [_on_grid(run, draft) for run in good]
        recipe = dataclasses.replace(draft, normaliser=_normaliser(on_grid, good, metric_kind))
    elif recipe.direction is not direction:
        raise PrepareError(
            f"the forecaster's metric is to be {recipe.direction}imised, these runs' is to be {direction}imised. "
            "Fix: use runs of the same metric"
        )
    else:
        on_grid = [_on_grid(run, recipe) for run in good]
    return Prepared(
        recipe=recipe,
        names=tuple(run.name for run in good),
        values=np.stack([recipe.normalised(p) for p in on_grid]),
        mask=np.stack([p.mask for p in on_grid]),
        total_steps=np.array([run.total_steps for run in good], dtype=np.int64),
        aside=tuple(aside),
        groups=tuple(f"{run.facts.schedule or '?'} {run.peak_lr:.3g}" for run in good),
    )


def default_points(runs: Iterable[Run]) -> int:
    """As many points as a typical run has losses, from 60 to 600, a multiple of 20 so that 5 % is a whole number."""
    typical = float(np.median([len(run.loss) for run in runs]))
    return int(np.clip(20 * round(typical / 20), 60, 600))


def _sort_out(runs: Iterable[Run]) -> tuple[list[Run], list[tuple[str, str]]]:
    good, aside = [], []
    for run in runs:
        reason = why_unusable(run)
        if reason is None:
            good.append(run)
        else:
            aside.append((run.name, reason))
    stuck = stuck_beside(good)
    aside.extend(stuck.items())
    return [run for run in good if run.name not in stuck], aside


def _on_grid(run: Run, recipe: Recipe) -> Points:
    return recipe.to_points(run.loss, run.metric, run.lr, run.total_steps)


def _normaliser(on_grid: list[Points], runs: list[Run], metric_kind: MetricKind) -> Normaliser:
    values = np.stack([p.values for p in on_grid])
    mask = np.stack([p.mask for p in on_grid])
    seen = [values[..., i][mask[..., i]] for i in range(len(CHANNELS))]
    direction: Direction = runs[0].direction
    transforms = (
        loss_transform(seen[0]),
        metric_transform(seen[1], direction, metric_kind),
        lr_transform([run.peak_lr for run in runs]),
    )
    return Normaliser(*(fit_channel(t, s) for t, s in zip(transforms, seen, strict=True)))
