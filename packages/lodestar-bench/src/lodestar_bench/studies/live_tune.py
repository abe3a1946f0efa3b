"""`lodestar tune` live, against others who look for a schedule with the same work over the same five numbers.

Comes in: names of tasks, repeats, budgets in full runs. Goes out: a line of JSON for each method, repeat and budget, as
soon as it is known: the schedule it ended with, judged by the test metric of runs on fresh seeds, the same for all. A
second call goes on where the first ended. Work is counted in updates. A trial that is stopped costs what it ran; our
fits cost their processor time, in updates of the task by what its own runs took in the same process. A trial begins
while half a run is left, and may so end half a run beyond the budget; this goes for all.

Random search, TPE and PriorBand are read at each budget from one search; PBT and `tune` are run for each.

    python -m lodestar_bench.studies.live_tune digits-mlp diamonds-mlp --repeats 10 --out live.jsonl
    python -m lodestar_bench.studies.live_tune --out live.jsonl --table
"""

import argparse
import importlib.util
import itertools
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.runs import Direction
from lodestar_bench._threads import one_thread
from lodestar_bench.statistics import paired
from lodestar_bench.studies.live_ours import OURS, ours
from lodestar_bench.studies.live_rivals import SEARCHES, Found, Rig, pbt
from lodestar_bench.tasks import problem

BUDGETS = (5, 10, 20, 25)
PBT = "Ray PBT, replayed"
TESTS, TEST_SEED = 5, 900_000
NEEDS = {"NePS PriorBand": "neps", PBT: "ray"}


def methods() -> list[str]:
    """Those whose packages are installed."""
    return [name for name in (*SEARCHES, PBT, OURS) if importlib.util.find_spec(NEEDS.get(name, "numpy"))]


def carry_out(task: str, method: str, repeat: int, budgets: Sequence[int], rig: Rig) -> Iterator[dict[str, Any]]:
    """A row for each budget."""
    found: Iterator[tuple[int, Found, dict[str, Any]]]
    if method in SEARCHES:
        history = list(SEARCHES[method](rig, repeat, max(budgets)))
        found = ((budget, _read(history, budget, rig), {}) for budget in budgets)
    elif method == OURS:
        found = ((budget, *ours(rig, repeat, budget)) for budget in budgets)
    else:
        found = ((budget, list(pbt(rig, repeat, budget))[-1], {}) for budget in budgets)
    for budget, best, facts in found:
        tests = [rig.test(best.rates, TEST_SEED + 10 * repeat + place) for place in range(TESTS)]
        yield {
            "task": task, "method": method, "repeat": repeat, "budget": budget, "spent": best.spent / rig.total,
            "worth": best.worth, "tests": tests, "peak_lr": float(best.rates.max()), **facts,
        }  # fmt: skip


def _read(history: Sequence[Found], budget: int, rig: Rig) -> Found:
    """The best known when the budget was spent."""
    known = [found for found in history if found.spent <= (budget + 0.5) * rig.total]
    best = max(known, key=lambda found: found.worth)
    return Found(known[-1].spent, best.worth, best.rates)


def work(
    tasks: Sequence[str], repeats: Sequence[int], budgets: Sequence[int], wanted: Sequence[str], out: Path
) -> None:
    """What has no row yet; repeats outermost, so that a stop leaves all methods covered."""
    rows = rows_of(out)
    if rows:  # without a half line that a kill may have left
        out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = {(row["task"], row["method"], row["repeat"], row["budget"]) for row in rows}
    rigs: dict[str, Rig] = {}
    for repeat, task, method in itertools.product(repeats, tasks, wanted):
        left = [b for b in budgets if (task, method, repeat, b) not in done and not (method == OURS and b == 25)]
        if not left:
            continue
        if task not in rigs:
            rigs[task] = Rig(task)
        rig = rigs[task]
        began = time.perf_counter()
        for row in carry_out(task, method, repeat, left, rig):
            with out.open("a") as file:
                file.write(json.dumps(row, default=float) + "\n")
            told = f"{np.mean(row['tests']):.4f} by {row['spent']:.1f} runs"
            print(f"{task} {repeat} {method} {row['budget']}: {told}, {time.perf_counter() - began:.0f} s", flush=True)


def rows_of(out: Path) -> list[dict[str, Any]]:
    """What has been written; a half line after a kill is passed over."""
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """By task: means of all runs, give or take the spread of repeats. Then ours against each, pooled over tasks."""
    tasks, names = ([*dict.fromkeys(row[key] for row in rows)] for key in ("task", "method"))
    means = {(r["task"], r["method"], r["budget"], r["repeat"]): float(np.nanmean(r["tests"])) for r in rows}
    lines = []
    for task in tasks:
        lines.append(f"{task}: test metric (deviation of repeats; n)")
        for name in names:
            cells = []
            for budget in BUDGETS:
                own = [v for (t, m, b, _), v in means.items() if (t, m, b) == (task, name, budget)]
                spread = np.std(own, ddof=1) if len(own) > 1 else math.nan
                cells.append(f"{np.mean(own):.4f} +- {spread:.4f} ({len(own):2d})" if own else f"{'-':>23}")
            lines.append(f"  {name:24} " + "  ".join(cells))
    for mine, theirs in [*((budget, (budget,)) for budget in BUDGETS[:-1]), (0, BUDGETS[:-1]), (10, (25,))]:
        label = "all" if not mine else f"{mine} of ours, {theirs[0]} of theirs"
        for name in names:
            if name != OURS:
                found = [_gaps(means, task, name, b, (mine or b)) for task in tasks for b in theirs]
                gaps = [gap for part in found for gap in part]
                if len(gaps) > 1:
                    told = paired(gaps, [0.0] * len(gaps))
                    lines.append(
                        f"{label}: ours less {name:24} {told.mean:+.2f} deviations, 95 % {told.lower:+.2f} to "
                        f"{told.upper:+.2f}, p {told.p:.2g}, above in {told.above} of {told.count}"
                    )
    return lines


def _gaps(means: dict[tuple, float], task: str, name: str, budget: int, mine: int) -> list[float]:
    """Ours less the other, repeat by repeat, in deviations of repeats of random search: more is better."""
    unit = float(np.std([v for (t, m, _, _), v in means.items() if (t, m) == (task, "random search")], ddof=1))
    sign = -1.0 if problem(task, "cpu").direction is Direction.MIN else 1.0
    repeats = [r for (t, m, b, r) in means if (t, m, b) == (task, name, budget) and (task, OURS, mine, r) in means]
    return [sign * (means[task, OURS, mine, r] - means[task, name, budget, r]) / unit for r in repeats]


def main() -> None:
    """Measure what is missing, or print the table."""
    one_thread()
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("tasks", nargs="*")
    told.add_argument("--repeats", type=int, default=10)
    told.add_argument(
        "--first", type=int, default=0, help="number of the first repeat; those from 100 on chose settings"
    )
    told.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS), help="in full runs")
    told.add_argument("--methods", nargs="+", default=methods())
    told.add_argument("--out", type=Path, required=True, help="rows, a JSON object a line; goes on where it ends")
    told.add_argument("--table", action="store_true", help="print what there is")
    given = told.parse_args()
    repeats = range(given.first, given.first + given.repeats)
    work(given.tasks, repeats, given.budgets, given.methods, given.out)
    if given.table:
        print("\n".join(table(rows_of(given.out))))


if __name__ == "__main__":
    main()
