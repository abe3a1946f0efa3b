"""Step 4, score (goal conditioning): the metric each accepted candidate is forecast to reach, and their order of merit.

Comes in: the metrics predicted a horizon after each match (members, samples). Goes out: groups of (member, sample),
best first. "each" ranks every member's sample by itself (the paper's, where there is one member). "consensus" ranks a
sample by the mean over the members of an ensemble that accepted it, less their disagreement: a forecast only one member
believes in is not to be trusted. A time past the end of the run is read at the end, where the model was trained last;
`past_end` is the one place that does so. Ties go to the lower sample. A new score is one function and its line in
`SCORES`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lodestar.runs.run import Direction

Group = list[tuple[int, int]]  # (member, sample) pairs that count as one candidate


def past_end(at: NDArray[np.int64], points: int) -> NDArray[np.int64]:
    """Points to read, with those past the end of the run moved to its end."""
    return np.clip(at, 0, points - 1)


def each(goals: NDArray[np.float64], direction: Direction) -> list[Group]:
    """Every finite goal (members, samples) on its own, best first."""
    flat = goals.T.ravel()  # sample by sample, so that a tie goes to the lower sample, then the lower member
    usable = np.flatnonzero(np.isfinite(flat))
    order = usable[np.argsort(_merit(flat[usable], direction), kind="stable")]
    members = goals.shape[0]
    return [[(int(i % members), int(i // members))] for i in order]


def consensus(goals: NDArray[np.float64], direction: Direction) -> list[Group]:
    """Samples that at least half of the members accepted, by mean less spread over those members."""
    usable = np.isfinite(goals)
    count = np.maximum(usable.sum(axis=0), 1)
    mean = np.where(usable, goals, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(usable, (goals - mean) ** 2, 0.0).sum(axis=0) / count)
    enough = usable.any(axis=0) & (2 * usable.sum(axis=0) >= len(goals))
    merit = np.where(enough, _merit(mean, direction) + spread, np.inf)
    order = np.argsort(merit, kind="stable")[: int(np.isfinite(merit).sum())]
    return [[(int(member), int(sample)) for member in np.flatnonzero(usable[:, sample])] for sample in order]


def _merit(values: NDArray[np.float64], direction: Direction) -> NDArray[np.float64]:
    """Smaller is better."""
    return -values if direction is Direction.MAX else values


SCORES: dict[str, Callable[[NDArray[np.float64], Direction], list[Group]]] = {"consensus": consensus, "each": each}
