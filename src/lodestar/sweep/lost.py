"""Tells while a trial runs that its loss is lost, so that no more time goes into it.

Slower to judge than `doctor/diverged.py`, which sees whole runs: high rates throw a loss far up before it comes down
again, and mixed precision makes a stray NaN, so only what lasts counts.
"""

import math

NOT_FINITE = 3  # losses in a row that are NaN or inf
LASTS = 0.2  # share of the planned steps for which a loss must have stayed up
LEAST_REPORTS = 10  # and losses reported in that time
FIRST = 3  # losses whose middle one is where the run began


class Lost:
    def __init__(self, total_steps: int):
        self._lasts = LASTS * total_steps
        self._first: list[float] = []
        self._best = math.inf
        self._not_finite = 0
        self._above = 0
        self._above_since = 0

    def judge(self, step: int, loss: float) -> str | None:
        """Take the next loss in; a sentence if the trial is lost."""
        if not math.isfinite(loss):
            self._not_finite += 1
            enough = self._not_finite >= NOT_FINITE
            return f"the last {NOT_FINITE} losses were not finite ({loss} at step {step})" if enough else None
        self._not_finite = 0
        self._best = min(self._best, loss)
        if len(self._first) < FIRST:
            self._first.append(loss)
        limit = self._limit()
        if loss <= limit:
            self._above = 0
            return None
        self._above += 1
        if self._above == 1:
            self._above_since = step
        if self._above < LEAST_REPORTS or step - self._above_since < self._lasts:
            return None
        return f"the loss has been above {limit:.4g} since step {self._above_since} (it began at {self._start():.4g})"

    def _start(self) -> float:
        return sorted(self._first)[len(self._first) // 2]

    def _limit(self) -> float:
        """As far above the start as the best lay below it; half the start's own size where nothing was gained."""
        start = self._start()
        return start + max(start - self._best, 0.5 * abs(start))
