"""How the best rate moves with size: the law's curves among the runs, and where the job was run.

Comes in: a forecaster whose runs differ in size, batch or length, and glimpses. Goes out: blocks; none where there is
no such law.
"""

import math
from collections.abc import Sequence

from lodestar.forecaster import Forecaster
from lodestar.forecaster.scale_law import QUANTITIES
from lodestar.planning.over_rates import over_rates
from lodestar.report.html import Block, Text
from lodestar.report.over_rates import Ended, rate_charts
from lodestar.report.sections.glimpse import Glimpse


def rate_blocks(forecaster: Forecaster, runs: Sequence[Glimpse]) -> list[Block]:
    """The law in words, and two charts. The job is that of the steered runs, if they state their scale."""
    same = [run for run in runs if run.direction is forecaster.direction and math.isfinite(run.final)]
    steered = [run for run in same if run.steered and run.scale is not None]
    job = {name: getattr(steered[-1].scale, name) for name in QUANTITIES} if steered else None
    found = over_rates(forecaster, job)
    if found is None or forecaster.law is None:
        return []
    words = [f"{q.words[0].upper()}{q.words[1:]}." for q in forecaster.law.quantities if q.learned]
    name = found.quantity.name
    past, own = (
        [Ended(value, run.peak_lr, run.final, run.name) for run in some if (value := getattr(run.scale, name, None))]
        for some in ([run for run in same if not run.steered], steered)
    )
    metric = str(forecaster.facts.get("metric_name", "metric"))
    return [Text(" ".join(words)), *rate_charts(found, metric, past, own)]
