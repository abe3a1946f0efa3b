"""Pruning in replay: recorded trials, in random orders, under each pruner; who keeps the best trial for the least work.

Comes in: tables of recorded runs. For each order a random pool of them is handed to a pruner one after the other, value
by value, through the real package: Optuna's pruners in a study, Ray's ASHA as Tune calls it, ours. Goes out, for
budgets that are shares of all the updates in the pool: regret, the best kept trial's distance from the best of the pool
in units of the distance from the pool's median to its best; and whether the eventual best was stopped. A row is written
as soon as it is known, and a second call goes on where the first ended.

    python -m lodestar_bench.studies.prune_replay runs/*.parquet --out replay.jsonl --orders 20 --most 200
    python -m lodestar_bench.studies.prune_replay --out replay.jsonl            # the tables again
"""

import argparse
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lodestar.runs import Direction
from lodestar_bench.studies.prune_table import BUDGETS, show
from lodestar_bench.studies.pruners import Stopper, stoppers
from lodestar_bench.studies.recorded import Recorded, read, seconds_of


def replay(trials: Sequence[Recorded], stopper: Stopper, seconds: float | None = None) -> dict[str, Any]:
    """One order: regret at each budget, what was spent in all, and whether the best of the pool was stopped.

    `seconds` that a whole trial takes: then regret with our fits and judging charged as well.
    """
    sign = 1.0 if trials[0].direction is Direction.MAX else -1.0
    worth = np.array([sign * trial.final if math.isfinite(trial.final) else -np.inf for trial in trials])
    whole = float(sum(trial.steps[-1] for trial in trials))
    winner, middle = int(np.argmax(worth)), float(np.median(worth[np.isfinite(worth)]))
    spent, kept, stopped_winner, marks, shares = 0.0, -np.inf, False, [(0.0, 0.0, -np.inf)], []
    for number, trial in enumerate(trials):
        stopper.begin(trial)
        place = stop = 0
        for place in range(len(trial.steps)):
            stop = stopper.stops(place) and place + 1 < len(trial.steps)
            if stop:
                break
        stopper.end(stopped=bool(stop))
        spent += float(trial.steps[place])
        shares.append(trial.steps[place] / trial.steps[-1])
        stopped_winner |= bool(stop) and number == winner
        if not stop:
            kept = max(kept, float(worth[number]))
        thought = sum(getattr(stopper, name, 0.0) for name in ("fit_seconds", "judge_seconds"))
        marks.append((spent, spent + thought / (seconds or math.inf) * whole / len(trials), kept))
    found: dict[str, Any] = {"spent": spent / whole, "winner_stopped": stopped_winner, "mean_share": np.mean(shares)}
    span = max(worth[winner] - middle, 1e-12)
    for budget, (place, name) in itertools.product(BUDGETS, enumerate(("regret", "charged"))):
        best = max(mark[-1] for mark in marks if mark[place] <= budget * whole)
        found[f"{name}_{budget:g}"] = (worth[winner] - (best if math.isfinite(best) else middle)) / span
        if name == "charged" and seconds is None:
            found[f"{name}_{budget:g}"] = None
    for name in ("fit_seconds", "judge_seconds"):
        found[name] = getattr(stopper, name, 0.0)
    return {key: value if value is None or isinstance(value, bool) else float(value) for key, value in found.items()}


def work(paths: Sequence[Path], out: Path, orders: range, most: int, without: Sequence[str]) -> None:
    """Every task, order and pruner that has no row yet; orders outermost, so that a stop leaves all tasks covered."""
    rows = rows_of(out)
    if rows:  # without a half line that a kill may have left
        out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = {(row["task"], row["pool"], row["order"], row["pruner"]) for row in rows}
    tasks = {path.stem: (read(path), seconds_of(path)) for path in paths}
    for order, (task, (trials, seconds)) in itertools.product(orders, tasks.items()):
        picked = np.random.default_rng([order, 16]).permutation(len(trials))[:most]
        pool = [trials[place] for place in picked]
        points = int(np.median([len(trial.steps) for trial in pool]))
        for name, make in stoppers(pool[0].direction, points, order).items():
            key = (task, len(pool), order, name)
            if key in done or name in without:
                continue
            row = dict(zip(("task", "pool", "order", "pruner"), key, strict=True)) | replay(pool, make(), seconds)
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")


def rows_of(out: Path) -> list[dict[str, Any]]:
    """What has been written; a half line after a kill is passed over."""
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def main() -> None:
    """Replay what is missing, then print the table."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("runs", type=Path, nargs="*", help="tables or run stores, one a task")
    told.add_argument("--out", type=Path, required=True, help="rows, a JSON object a line; goes on where it ends")
    told.add_argument("--orders", type=int, default=20, help="random pools and orders of each task")
    told.add_argument("--first", type=int, default=0, help="number of the first order: others than those chosen on")
    told.add_argument("--most", type=int, default=200, help="trials in a pool")
    told.add_argument("--without", nargs="+", default=[], help="leave these pruners out")
    told.add_argument("--task", help="in the table: this task only")
    given = told.parse_args()
    orders = range(given.first, given.first + given.orders)
    work(given.runs, given.out, orders, given.most, given.without)
    rows = [r for r in rows_of(given.out) if given.task in (None, r["task"]) and r["pruner"] not in given.without]
    show(rows)


if __name__ == "__main__":
    main()
