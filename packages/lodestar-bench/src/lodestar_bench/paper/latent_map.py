"""Item 8: a map of the latent space: pieces of runs encoded ten times an epoch, laid out in the plane by UMAP or PCA.

Comes in: Lodestar's forecaster and 20 runs of each schedule family: what it learned from, final runs of the four
shapes, and runs Lodestar steered.
Goes out: a point for each piece with its place in the plane, time, loss, metric and learning rate; and whose pieces lie
nearest to whose in the latent space itself, before any flattening. One encoder is shown: members have spaces of their
own.
"""

import importlib.util
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Forecaster, forecast
from lodestar.forecaster.preprocessing import Points
from lodestar.runs import Run
from lodestar.scheduler.settings import DEFAULT
from lodestar_bench.paper import draw_map
from lodestar_bench.paper.context import FITTED, ItemContext
from lodestar_bench.paper.item import AbstractItem, Findings, Made, Picture
from lodestar_bench.paper.selection import fresh_runs
from lodestar_bench.paper.sheet import Sheet
from lodestar_bench.paper.tell_map import words

if TYPE_CHECKING:
    from lodestar.report.html import Block

RUNS, AN_EPOCH, NEIGHBOURS = 20, 10, 10
Latents = NDArray[np.float64]
POINT = ("family", "run", "part", "x", "y", "loss", "metric", "lr")


class LatentMap(AbstractItem):
    """Where runs are in the latent space as they go."""

    name = "map"
    title = "8. A map of the latent space"
    needs = "Lodestar's forecaster, the runs it learned from, final runs of the four shapes, runs it steered"
    version = 2

    def make(self, context: ItemContext) -> Findings:
        """Encode, flatten, count neighbours."""
        forecaster, families = context.forecaster(), _families(context)
        rows: list[tuple[Any, ...]] = []
        latents = []
        for place, (family, runs) in enumerate(families.items()):
            context.tell(place, len(families) + 1, f"encoding {family}")
            for run in runs:
                told, found = _encoded(forecaster, run)
                rows += [(family, run.name, *one) for one in told]
                latents.append(found)
        context.tell(len(families), len(families) + 1, "flattening")
        space = _standard(np.concatenate(latents))
        plane, how = flattened(space, seed=context.seed)
        points = [(*row[:3], x, y, *row[3:]) for row, (x, y) in zip(rows, plane.tolist(), strict=True)]
        sheet = Sheet.of("points", POINT, points)
        return Findings(
            (
                sheet,
                Sheet.of("neighbours", ("family", "of", "share"), _neighbours(space, sheet)),
                Sheet.of("explained", ("what", "figure"), _explained(space, sheet)),
            ),
            seeds=tuple(sorted({int(run.facts.seed or 0) for runs in families.values() for run in runs})),
            notes=(f"laid out by {how}", f"{context.ours(FITTED)}'s forecaster, its first member"),
        )

    def draw(self, made: Sequence[Made]) -> list[Picture]:
        """A figure for each task."""
        return draw_map.pictures(made)

    def words(self, made: Sequence[Made]) -> str:
        """What lies near what."""
        return words(made)

    def charts(self, made: Sequence[Made]) -> "list[Block]":
        """A chart for each task."""
        return draw_map.charts(made)


def _families(context: ItemContext) -> dict[str, list[Run]]:
    """Twenty runs each, drawn at random where there are more; runs that diverged are left out."""
    steered = context.runs(context.finals(context.ours()))
    every = {run.name: run for run in (*context.sources(), *fresh_runs(context), *steered)}
    whole = [run for run in every.values() if run.last_step >= run.total_steps]
    chance = np.random.default_rng(context.seed)
    families: dict[str, list[Run]] = {}
    for run in whole:
        families.setdefault(str(run.facts.schedule), []).append(run)
    return {
        name: [runs[i] for i in sorted(chance.permutation(len(runs))[:RUNS])] for name, runs in families.items() if runs
    }


def _encoded(forecaster: Forecaster, run: Run) -> tuple[list[tuple[float, ...]], Latents]:
    """Time, loss, metric and rate at the end of each piece, and the latents. A piece is one window of steering."""
    points, window = forecaster.points, DEFAULT.window_points(forecaster.points)
    epochs = float(run.facts.extra.get("epochs", 0.0) or 0.0) or 10.0
    stops = np.unique(np.linspace(window, points, max(2, min(round(AN_EPOCH * epochs), points))).round().astype(int))
    found = forecaster.recipe.to_points(run.loss, run.metric, run.lr, run.total_steps)
    values = forecaster.recipe.normalised(found)
    contexts = [forecast.Context(values[i - window : i], found.mask[i - window : i], i - window) for i in stops]
    latents = forecaster.encode(*contexts)[0]
    told = [(stop / points, *(_latest(found, stop, channel) for channel in range(3))) for stop in stops]
    return told, latents


def _latest(found: Points, stop: int, channel: int) -> float:
    """What was last observed of a quantity before a point; NaN while nothing was."""
    seen = np.flatnonzero(found.mask[:stop, channel])
    return float(found.values[seen[-1], channel]) if len(seen) else math.nan


def _standard(space: Latents) -> Latents:
    return (space - space.mean(axis=0)) / np.maximum(space.std(axis=0), 1e-12)


def flattened(space: Latents, *, seed: int) -> tuple[Latents, str]:
    """Places in the plane: UMAP where umap-learn is installed, else the first two principal components."""
    if importlib.util.find_spec("umap") is not None:
        return _umap(space, seed), "UMAP"
    _, strength, axes = np.linalg.svd(space, full_matrices=False)
    share = float((strength[:2] ** 2).sum() / (strength**2).sum())
    return space @ axes[:2].T, f"PCA (umap-learn is not installed), {share:.0%} of the variance"


def _umap(space: Latents, seed: int) -> Latents:
    import warnings

    with warnings.catch_warnings():  # it warns that a seed means one thread
        warnings.simplefilter("ignore")
        from umap import UMAP  # pyright: ignore[reportMissingImports]

        return np.asarray(UMAP(random_state=seed, n_jobs=1).fit_transform(space), dtype=float)


def _others(space: Latents, sheet: Sheet) -> NDArray[np.int64]:
    """The nearest pieces of other runs, for each piece: (pieces, NEIGHBOURS)."""
    from scipy.spatial import KDTree

    runs = sheet["run"]
    most = int(max(np.unique(runs, return_counts=True)[1]))
    near = np.asarray(KDTree(space).query(space, k=min(most + NEIGHBOURS, len(space)))[1])
    return np.stack([row[runs[row] != runs[i]][:NEIGHBOURS] for i, row in enumerate(near)])


def _neighbours(space: Latents, sheet: Sheet) -> list[tuple[str, str, float]]:
    """For each family, the share of its pieces' neighbours that each family has."""
    families, near = sheet["family"], _others(space, sheet)
    names = list(dict.fromkeys(families.tolist()))
    return [
        (name, other, float((families[near[families == name]] == other).mean())) for name in names for other in names
    ]


def _explained(space: Latents, sheet: Sheet) -> list[tuple[str, float]]:
    """How much of each quantity's variance the mean of a piece's neighbours in other runs explains."""
    near, found = _others(space, sheet), []
    for what in ("part", "loss", "metric", "lr"):
        values = np.log(np.maximum(sheet[what], 1e-12)) if what in ("loss", "lr") else sheet[what]
        known = np.isfinite(values)
        guess = np.array([values[row][known[row]].mean() if known[row].any() else np.nan for row in near])
        both = known & np.isfinite(guess)
        found.append((what, float(1 - (values - guess)[both].var() / max(values[both].var(), 1e-300))))
    return found


ITEM = LatentMap()
