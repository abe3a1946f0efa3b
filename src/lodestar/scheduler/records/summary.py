"""The last line of a run: what was followed, how often it changed, and what became of the forecast.

Comes in: the decisions, the final metric, the updates made. Goes out: one sentence. Knows nothing of jobs and files.
"""

import math
from collections import Counter
from collections.abc import Sequence

from lodestar.scheduler.records.decision import Decision
from lodestar.scheduler.records.outcome import Outcome

_CHANGES = {
    Outcome.RESCALED: "rescaled",
    Outcome.CUT: "cut",
    Outcome.EXTENDED: "another length",
}


def summary_of(
    decisions: Sequence[Decision], final: float, updates: int, total_steps: int, *, shadow: bool = False
) -> str:
    """Such as "followed the initial plan throughout; 0 replans; final 0.884, forecast 0.878 (0.872 to 0.884); ..."."""
    counts = Counter(decision.outcome for decision in decisions)
    replans = counts[Outcome.REPLANNED]
    parts = [_followed(decisions, counts, shadow), f"{replans} replan{'' if replans == 1 else 's'}"]
    parts += [f"{count} x {word}" for outcome, word in _CHANGES.items() if (count := counts[outcome])]
    parts += [_forecast(decisions, final, shadow), f"{updates:,} of {total_steps:,} planned updates made"]
    return "; ".join(parts)


def _followed(decisions: Sequence[Decision], counts: Counter[Outcome], shadow: bool) -> str:
    if shadow:
        return "shadow mode: followed the base schedule throughout"
    gated = next((decision for decision in decisions if decision.outcome is Outcome.GATED), None)
    if gated is not None:
        return f"followed the plain schedule from step {gated.step + 1:,}: the gate closed"
    if counts[Outcome.REPLANNED] or counts[Outcome.RESCALED] or counts[Outcome.CUT]:
        return "followed the plan as it was changed"
    return "followed the initial plan throughout"


def _forecast(decisions: Sequence[Decision], final: float, shadow: bool) -> str:
    told = f"final {final:.4g}" if math.isfinite(final) else "no metric observed"
    for decision in reversed(decisions):
        value = decision.forecast if shadow else decision.predicted
        interval = decision.forecast_interval if shadow else decision.interval
        if value is not None:
            around = "" if interval is None else f" ({interval[0]:.4g} to {interval[1]:.4g})"
            return f"{told}, forecast {value:.4g}{around}"
    return f"{told}, no forecast"
