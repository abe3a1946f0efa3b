"""The gate: when not to steer. A closed gate falls to the user's plain schedule, or to one of the plan's family.

It closes at the start when the forecaster's figure on held-out runs is not good enough (or there is none), and during
the run when the live loss or metric has left the range of the training runs, by a margin, for a whole stretch; or by
any margin where hardly a decision found a candidate that came near. Once closed it stays closed. `MILD` is on by
default: it looks at the first part of a run only, and closes where the forecaster clearly does not fit the job. Comes
in: quality figures, ranges, the live run. Goes out: a sentence, or None to go on.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lodestar.forecaster import Ranges
from lodestar.forecaster.preprocessing.normaliser import CHANNELS, LOSS, METRIC
from lodestar.runs.run import Direction
from lodestar.scheduler.records.decision import Decision

_LEAST_DECISIONS = 2  # that found nothing near
_LOST = ", and hardly a decision found a candidate near it"


@dataclasses.dataclass(frozen=True)
class Gate:
    """Steer only if `figure` is at least `least` (or at most `most`), and while the run is in range."""

    least: float | None = None
    most: float | None = None
    figure: str = "spearman_05"
    margin: float | None = 1.0  # standard deviations beyond the training runs' range; None: do not look
    stretch: float = 0.1  # the share of the run that must lie outside, without a break
    unaccepted: float | None = None  # no margin counts if this share of the decisions accepted nothing; None: it does
    until: float = 1.0  # the share of the run after which it does not look any more

    def __post_init__(self):
        if self.least is None and self.most is None and self.margin is None:
            raise ValueError("a gate needs a threshold, got none. Fix: Gate(least=0.5), or leave the gate out")
        for name in ("least", "most"):
            value = getattr(self, name)
            if value is not None and not _finite(value):
                raise ValueError(f"{name} must be a finite number, got {value!r}. Fix: Gate(least=0.5)")
        if self.margin is not None and not (_finite(self.margin) and self.margin >= 0):
            raise ValueError(f"margin must be a number >= 0 or None, got {self.margin!r}. Fix: 1.0 is a usual margin")
        if not (_finite(self.stretch) and 0 < self.stretch <= 1):
            raise ValueError(f"stretch must be a fraction of the run in (0, 1], got {self.stretch!r}. Fix: 0.1")
        if not (_finite(self.until) and 0 < self.until <= 1):
            raise ValueError(f"until must be a fraction of the run in (0, 1], got {self.until!r}. Fix: 1.0")
        if self.unaccepted is not None and not (_finite(self.unaccepted) and 0 < self.unaccepted <= 1):
            raise ValueError(f"unaccepted must be a share in (0, 1] or None, got {self.unaccepted!r}. Fix: 0.8")

    def quality_reason(self, quality: Mapping[str, Any]) -> str | None:
        """Why the forecaster is not good enough to steer, or None."""
        if self.least is None and self.most is None:
            return None
        if not quality:
            return "the forecaster was not tested on held-out runs. Fix: fit again with some runs held out"
        if self.figure not in quality:
            raise ValueError(
                f"figure must be one the forecaster holds ({', '.join(sorted(quality))}), got {self.figure!r}. "
                "Fix: name one of these in the gate"
            )
        value = quality[self.figure]
        if not _finite(value):
            return f"the forecaster's {self.figure} is {value}, not a number"
        if self.least is not None and value < self.least:
            return f"the forecaster's {self.figure} is {value:.4g} on held-out runs, below the gate's {self.least:.4g}"
        if self.most is not None and value > self.most:
            return f"the forecaster's {self.figure} is {value:.4g} on held-out runs, above the gate's {self.most:.4g}"
        return None

    def range_reason(
        self,
        values: NDArray[np.float64],
        mask: NDArray[np.bool_],
        ranges: Ranges,
        direction: Direction,
        decisions: Sequence[Decision] = (),
    ) -> str | None:
        """Why the live run (seen points, 3), in model units, is out of range at its end, or None."""
        if self.margin is None or len(values) > self.until * len(ranges.low):
            return None
        lost = self._lost(decisions)
        worse = {LOSS: "above", METRIC: "below" if direction is Direction.MAX else "above"}
        length = max(1, round(self.stretch * len(ranges.low)))
        for channel in (LOSS, METRIC):
            seen = np.flatnonzero(mask[:, channel])
            last = seen[seen >= len(values) - length]
            if len(values) < length or len(last) == 0:
                continue
            below, above = (
                ranges.low[last, channel] - values[last, channel],
                values[last, channel] - ranges.high[last, channel],
            )
            for side, beyond in (("below", below), ("above", above)):
                if (beyond > (0.0 if lost and side == worse[channel] else self.margin)).all():
                    return (
                        f"the run's {CHANNELS[channel]} has been {side} anything the training runs did for "
                        f"{self.stretch:.0%} of the run{_LOST if lost else ''}"
                    )
        return None

    def _lost(self, decisions: Sequence[Decision]) -> bool:
        """Whether hardly a decision found a candidate that came near the run."""
        found = [decision.accepted > 0 for decision in decisions if decision.samples]
        enough = self.unaccepted is not None and len(found) >= _LEAST_DECISIONS
        return enough and 1 - sum(found) / len(found) >= (self.unaccepted or 1.0)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


MILD = Gate(margin=3.0, stretch=0.1, unaccepted=0.8, until=0.3)
"""On by default."""
