"""Steps 1 to 4 in one go: encode, perturb, accept, and read the metric each accepted candidate leads to.

Comes in: the moment of a decision and random numbers. Goes out: `Weighed`, every candidate with its match and its goal.
Pure.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Trajectories
from lodestar.scheduler.records.decision import Winner
from lodestar.scheduler.steps.candidates import Known, Local, gather
from lodestar.scheduler.steps.encode import encode
from lodestar.scheduler.steps.matching import NONE, match
from lodestar.scheduler.steps.moment import Moment
from lodestar.scheduler.steps.score import Group, past_end


@dataclasses.dataclass(frozen=True)
class Weighed:
    """The candidates after step 4: where each matches (-1: nowhere) and the metric it leads to (NaN: none)."""

    curves: Trajectories
    labels: list[str]
    matched: NDArray[np.int64]  # (members, samples)
    goals: NDArray[np.float64]  # (members, samples)
    as_is: NDArray[np.float64]  # (members,): the final metric of the live run itself

    def winners(self, pairs: Group) -> tuple[Winner, ...]:
        """Some candidates, for the record."""
        points = self.curves.lr.shape[-1]
        return tuple(
            Winner(self.labels[s], m, s, (int(self.matched[m, s]) + 1) / points, float(self.goals[m, s]))
            for m, s in pairs
        )


def weigh(moment: Moment, rng: np.random.Generator) -> Weighed:
    """Every candidate's match and goal."""
    forecaster, total = moment.forecaster, moment.forecaster.points
    latents, labels = _latents(moment, rng)
    curves = forecaster.decode(latents)
    near = slice(*moment.rule.span(moment.seen - 1, total))
    found = moment.matches(curves.loss[..., near])
    matched = match(moment.rule, found, curves.lr[..., near], moment.seen - 1, near.start)
    at = past_end(matched + moment.horizon, total)
    goals = np.where(matched == NONE, np.nan, np.take_along_axis(curves.metric, at[..., None], axis=-1)[..., 0])
    itself = labels.index(Local.name) if Local.name in labels else -1
    return Weighed(curves, labels, matched[:, : len(labels)], goals[:, : len(labels)], curves.metric[:, itself, -1])


def _latents(moment: Moment, rng: np.random.Generator) -> tuple[NDArray[np.float64], list[str]]:
    """Steps 1 and 2. The live run itself is always among them, if need be unlabelled: its forecast is recorded."""
    settings, forecaster = moment.settings, moment.forecaster
    live, references = encode(forecaster, moment.context, _reference_runs(settings.samples, settings.candidates))
    known = Known(live, references, forecaster.spread)
    latents, labels = gather(settings.sources(), settings.samples, known, rng)
    if Local.name not in labels:
        latents = np.concatenate([latents, live[:, None]], axis=1)
    return latents, labels


def _reference_runs(samples: int, candidates: tuple[str, ...]) -> int:
    """How many of them to encode: half of a source's samples, the other half being the same with noise."""
    return 0 if candidates == (Local.name,) else -(-samples // (2 * len(candidates)))
