"""Algorithm 1 of the paper in slow plain loops, one sample, one point and one number at a time.

It shares with the package only the forecaster's encode and decode (which have tests of their own). Readings
the paper leaves open: t* is the last point seen, so the next point is one after the match; times past the end are read
at the end; ties go to the lower sample, then the lower member; noise is in units of the latents' spread.
"""

import dataclasses
import math

import numpy as np

from lodestar.forecaster import Context, Forecaster
from lodestar.forecaster.preprocessing.recipe import Points


@dataclasses.dataclass
class Reference:
    """What the loops found. `lr` is None where nothing was accepted: the running schedule goes on."""

    lr: list[float] | None
    winners: list[tuple[int, int, int, float]]  # member, sample, matched point, metric
    accepted: int
    tolerance: float


def algorithm_one(
    forecaster: Forecaster,
    points: Points,
    seen: int,
    *,
    window: int,
    samples: int,
    noise: float,
    horizon: int | None,
    average: int,
    rng: np.random.Generator,
) -> Reference:
    """One decision after `seen` points; `lr` has a value for the present and for every point to the end of the run."""
    total = forecaster.points
    losses = [float(points.values[i, 0]) for i in range(seen - window, seen) if points.mask[i, 0]]
    current = losses[-1]
    mean = sum(losses) / len(losses)
    std = math.sqrt(sum((loss - mean) ** 2 for loss in losses) / len(losses))
    ahead = total - seen if horizon is None else horizon

    values = forecaster.recipe.normalised(points)
    context = Context(values[seen - window : seen], points.mask[seen - window : seen], seen - window)
    centre = forecaster.encode(context)[:, 0]
    found = []
    for member in range(forecaster.members):
        for sample in range(samples):
            latent = [float(z) for z in centre[member]]
            for d in range(len(latent)):
                draw = float(rng.standard_normal())
                if sample > 0:
                    latent[d] += noise * float(forecaster.spread[member, d]) * draw
            everyone = np.zeros((forecaster.members, 1, len(latent)))
            everyone[member, 0] = latent
            decoded = forecaster.decode(everyone)
            loss, metric, lr = (part[member, 0] for part in (decoded.loss, decoded.metric, decoded.lr))
            matched = -1
            for k in range(total):
                if abs(loss[k] - current) < 2.0 * std and (matched < 0 or lr[k] > lr[matched]):
                    matched = k
            if matched >= 0:
                found.append((member, sample, matched, float(metric[min(matched + ahead, total - 1)]), lr))

    sign = -1.0 if forecaster.direction == "max" else 1.0
    best = sorted(found, key=lambda one: (sign * one[3], one[1], one[0]))[:average]
    if not best:
        return Reference(None, [], 0, 2.0 * std)
    rates = []
    for j in range(total - seen + 1):
        rates.append(sum(float(one[4][min(one[2] + j, total - 1)]) for one in best) / len(best))
    return Reference(rates, [one[:4] for one in best], len(found), 2.0 * std)
