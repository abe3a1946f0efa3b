"""Forecasters with random weights: real in every part but never fitted, for tests that need any forecaster, fast.

Goes out: a `Forecaster` whose decoded curves are smooth and differ from latent to latent. No JAX, no fit.
"""

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Architecture, Forecaster, Intervals, Network, Ranges, ReferenceRuns, weight_shapes
from lodestar.forecaster.preprocessing.normaliser import Channel, Normaliser
from lodestar.forecaster.preprocessing.recipe import Recipe
from lodestar.forecaster.preprocessing.transform import Kind, Transform
from lodestar.runs.run import Direction


def random_weights(
    shape: Architecture, members: int, rng: np.random.Generator, scale: float = 1.5
) -> dict[str, NDArray]:
    """Weights for `members` models, uniform in +-scale / sqrt(inputs)."""
    return {
        name: rng.uniform(-1, 1, (members, *size)) * scale / np.sqrt(size[-1])
        for name, size in weight_shapes(shape).items()
    }


def random_forecaster(
    *,
    seed: int,
    points: int = 100,
    members: int = 1,
    direction: Direction = Direction.MAX,
    shape: Architecture | None = None,
    references: int = 4,
    quality: dict[str, float] | None = None,
    dtype: type[np.floating] = np.float64,
) -> Forecaster:
    """A forecaster nobody fitted: accuracy-like metric, loss around 1.5, rates around 3e-3."""
    rng = np.random.default_rng(seed)
    shape = shape or Architecture(steps=8, tokens=10)
    metric = Transform(Kind.COMPLEMENT, floor=1e-3) if direction is Direction.MAX else Transform(Kind.LOG)
    recipe = Recipe(
        points=points,
        smoothing=0.03,
        normaliser=Normaliser(
            loss=Channel(Transform(Kind.LOG), 0.5, 0.2),
            metric=Channel(metric, 0.5, 0.2),
            lr=Channel(Transform(Kind.LOG, floor=3e-5), -6.6, 1.2),
        ),
        direction=direction,
    )
    weights = random_weights(shape, members, rng)
    network = Network(shape, {name: value.astype(dtype) for name, value in weights.items()})
    curves = network.decode(rng.normal(size=(members, references, shape.latent)), np.arange(1, points + 1) / points)[0]
    finals = recipe.normaliser.metric.inverse(curves[:, -1, 1])
    order = np.argsort(-finals if direction is Direction.MAX else finals, kind="stable")
    return Forecaster(
        network=network,
        recipe=recipe,
        spread=rng.uniform(0.5, 1.5, (members, shape.latent)),
        references=ReferenceRuns(
            tuple(f"run-{i}" for i in order), curves[order], np.ones((references, points, 3), bool), finals[order]
        ),
        ranges=Ranges(np.full((points, 3), -3.0), np.full((points, 3), 3.0), lr_min=1e-5, lr_max=3e-2),
        intervals=Intervals.wide(),
        facts={"metric_name": "accuracy", "runs": references, "preset": "random"},
        quality=quality or {"spearman_05": 0.9},
    )
