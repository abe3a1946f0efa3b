"""From the folders of comparisons to contests: the final test metrics of the methods of one block, by seed.

Comes in: homes, and as which budget they are to be read. Goes out: a `Contest` for each home of the block. Only methods
that leave the optimizer alone take part, and only those with all their final runs.
"""

import dataclasses
import math
from collections.abc import Sequence

from lodestar_bench import methods
from lodestar_bench.entrant import Entrant
from lodestar_bench.home import Home
from lodestar_bench.merit import Contest
from lodestar_bench.plan import records_of
from lodestar_bench.results import Record


def contests(homes: Sequence[Home], block: str, budget: int | None = None) -> list[Contest]:
    """`budget`: the comparison under that many runs for each method; else as it was asked for last."""
    found = []
    for home in homes:
        facts = home.facts()
        if facts.block != block:
            continue
        plan = facts.plan if budget is None else dataclasses.replace(facts.plan, equal=budget)
        results = home.results(facts, to_tell=True)
        finals = {entrant.name: records_of(plan.finals(entrant, results), results) for entrant in _like(plan.entrants)}
        tests = {
            name: {record.seed: results.test(record) for record in records}
            for name, records in finals.items()
            if len(records) == plan.seeds
        }
        held = {name: _held(finals[name]) for name in tests}
        held = {name: counts for name, counts in held.items() if counts[1]}
        found.append(Contest(home.path.name, facts.direction, tests, facts.metric_name, held))
    return found


def _held(records: Sequence[Record]) -> tuple[int, int]:
    known = [record.held for record in records if math.isfinite(record.held)]
    return round(sum(known)), len(known)


def _like(entrants: Sequence[Entrant]) -> list[Entrant]:
    return [entrant for entrant in entrants if not methods.method(entrant.spec).brings_optimizer]
