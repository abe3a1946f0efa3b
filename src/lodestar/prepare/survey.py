"""A first look at the runs: which are usable, and what a recipe needs to know of them.

Comes in: a stream of runs, one at a time. Goes out: small facts of the usable ones, and a sentence for each run set
aside. No curve is kept, so that a store of any size passes through.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from lodestar._errors import PrepareError
from lodestar.runs.diverged import Ending, ending, stuck_beside, why_unusable
from lodestar.runs.run import Direction, Run


@dataclasses.dataclass(frozen=True)
class Usable:
    """What is remembered of a usable run."""

    ending: Ending
    loss_points: int
    total_steps: int
    group: str


@dataclasses.dataclass(frozen=True)
class Survey:
    """Usable runs in order, runs set aside with the reason, and the one direction of the metric."""

    usable: tuple[Usable, ...]
    aside: tuple[tuple[str, str], ...]
    direction: Direction

    def default_points(self) -> int:
        """As many points as a typical run has losses, from 60 to 600; a multiple of 20 makes 5 % a whole number."""
        typical = float(np.median([run.loss_points for run in self.usable]))
        return int(np.clip(20 * round(typical / 20), 60, 600))


def survey(runs: Iterable[Run]) -> Survey:
    """Sort the runs into usable and set aside."""
    usable: list[Usable] = []
    aside: list[tuple[str, str]] = []
    for run in runs:
        reason = why_unusable(run)
        if reason is None:
            group = f"{run.facts.schedule or '?'} {run.peak_lr:.3g}"
            usable.append(Usable(ending(run), len(run.loss), run.total_steps, group))
        else:
            aside.append((run.name, reason))
    direction = _one_direction(usable)
    stuck = stuck_beside([run.ending for run in usable])
    aside.extend(stuck.items())
    usable = [run for run in usable if run.ending.name not in stuck]
    if not usable or direction is None:
        raise PrepareError(_none_left(aside))
    return Survey(tuple(usable), tuple(aside), direction)


def _one_direction(usable: list[Usable]) -> Direction | None:
    found = {run.ending.direction for run in usable}
    if len(found) > 1:
        raise PrepareError("these runs mix metrics to be maximised and minimised. Fix: fit on runs of one metric")
    return found.pop() if found else None


def _none_left(aside: list[tuple[str, str]]) -> str:
    if not aside:
        return "there is no run to prepare. Fix: import some with lodestar import, or check the store's path"
    shown = "; ".join(f"{name[:60]}: {why}" for name, why in aside[:5])
    more = f"; and {len(aside) - 5} more" if len(aside) > 5 else ""
    return f"no usable run among {len(aside)} ({shown}{more}). Fix: see what lodestar doctor says of these runs"
