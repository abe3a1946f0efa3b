"""Jobs unlike the sweep: what a loop could win that knew by which factor the rest of its plan is too high or too low.

Comes in: the lines of `shifts`, with the open loop and the same plan times a few factors from a quarter of the run on
(of a job that gets longer: read on the new clock, too). For each task and shift the best of these is chosen on one half
of the seeds and judged on the other, and the other way round, so that nothing is judged by the luck it was chosen by.
Goes out: a table of what it has over the open loop, in deviations of a seed: what is there for any loop that rescales.

    python -m lodestar_bench.studies.shifts cifar10-mlp stories-chars --out shifts.jsonl --home bench-out \
        --contestants 'open loop' 'plan x0.25' 'plan x0.5' 'plan x2' 'plan on the new clock'
    python -m lodestar_bench.studies.shift_room shifts.jsonl
"""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar_bench._errors import BenchError
from lodestar_bench.studies.shifted_jobs import SHIFTS
from lodestar_bench.studies.shifts import CLOCKED, OPEN, SCALED, in_units, lines

Line = Mapping[str, Any]


def run(path: str) -> str:
    """The table."""
    found = lines(Path(path))
    rows = [_row(found, shift) for shift in SHIFTS]
    if not any(rows):
        raise BenchError(f"{path} has no plan times a factor. Fix: shifts ... --contestants 'open loop' 'plan x0.5'")
    return "\n".join(["| the job | best factor less open loop | by task |", "|---|---|---|", *filter(None, rows)])


def _row(found: Sequence[Line], shift: str) -> str:
    parts = {}
    for base in (line for line in found if line["shift"] == shift and line["contestant"] == OPEN):
        keys = ("task", "sweep", "shift", "first_seed", "seeds")
        others = [x for x in found if _offers(x["contestant"]) and all(x[k] == base[k] for k in keys)]
        if others:
            parts[f"{base['task']} {base['sweep']}"] = crossed([base, *others], base)
    if not parts:
        return ""
    each = ", ".join(f"{name} {np.mean(gaps):+.2f}" for name, gaps in parts.items())
    pooled = np.concatenate(list(parts.values()))
    return f"| {shift} | {pooled.mean():+.2f} +- {pooled.std(ddof=1) / math.sqrt(len(pooled)):.2f} | {each} |"


def _offers(contestant: str) -> bool:
    return contestant == CLOCKED or contestant.startswith(SCALED)


def crossed(options: Sequence[Line], base: Line) -> np.ndarray:
    """Of each seed, the best option's gap to `base` in deviations of a seed; chosen by the seeds of the other half."""
    table = np.array([in_units(dict(option), dict(base)) for option in options])
    even = np.arange(table.shape[1]) % 2 == 0
    found = np.empty(table.shape[1])
    for part in (even, ~even):
        found[part] = table[int(np.argmax(table[:, ~part].mean(axis=1)))][part]
    return found


if __name__ == "__main__":
    print(run(*sys.argv[1:]))
