"""What a replay of pruners came to: means with intervals, and the tasks on which ours is best or level.

Comes in: rows of `prune_replay`. Goes out: a row for each pruner, and one for each task. Intervals are 95 % of a
bootstrap over orders, within each task. *Level* on a task: the paired difference to the regret of the best other pruner
(the one of the lowest mean there), over orders, has an interval that contains nought, or lies below it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BUDGETS = (0.1, 0.25, 0.5)
OURS = "lodestar"
_DRAWS = 2000
Row = dict[str, Any]


def shared(rows: Sequence[Row]) -> list[Row]:
    """The rows of tasks and orders that every pruner has."""
    names = {row["pruner"] for row in rows}
    have = [{(r["task"], r["pool"], r["order"]) for r in rows if r["pruner"] == name} for name in names]
    both = set.intersection(*have) if have else set()
    return [row for row in rows if (row["task"], row["pool"], row["order"]) in both]


def table(rows: Sequence[Row]) -> list[Row]:
    """Means for each pruner over the tasks and orders that every pruner has, and intervals of the regrets."""
    rows = shared(rows)
    figures = ["winner_stopped", "spent", "fit_seconds", "judge_seconds"]
    figures += [f"regret_{budget:g}" for budget in BUDGETS]
    found = []
    for name in dict.fromkeys(row["pruner"] for row in rows):
        own = [row for row in rows if row["pruner"] == name]
        made: Row = {"pruner": name, "orders": len(own)} | {k: float(np.mean([r[k] for r in own])) for k in figures}
        for budget in BUDGETS:
            regrets = [values for _, values in by_task(own, f"regret_{budget:g}")]
            made[f"interval_{budget:g}"] = interval(regrets)
            charged = [row[f"charged_{budget:g}"] for row in own if row.get(f"charged_{budget:g}") is not None]
            made[f"charged_{budget:g}"] = float(np.mean(charged)) if charged else None
        found.append(made)
    return sorted(found, key=lambda row: row["regret_0.25"])


def levels(rows: Sequence[Row], budget: float) -> list[Row]:
    """For each task: our mean regret, the best other pruner's, the paired difference with its interval, and level."""
    rows, figure = shared(rows), f"regret_{budget:g}"
    found = []
    for task in dict.fromkeys(row["task"] for row in rows):
        regrets = {
            name: values
            for name in dict.fromkeys(row["pruner"] for row in rows)
            for _, values in by_task([row for row in rows if (row["task"], row["pruner"]) == (task, name)], figure)
        }
        ours = regrets.pop(OURS)
        best = min(regrets, key=lambda name: float(regrets[name].mean()))
        low, high = interval([ours - regrets[best]])
        means = {"ours": float(ours.mean()), "theirs": float(regrets[best].mean())}
        found.append({"task": task, "best": best, "low": low, "high": high, "level": low <= 0} | means)
    return found


def by_task(rows: Sequence[Row], figure: str) -> list[tuple[str, NDArray[np.float64]]]:
    """A figure of each task's orders, in the order of their numbers."""
    ordered = sorted(rows, key=lambda row: (row["task"], row["order"]))
    tasks = dict.fromkeys(row["task"] for row in ordered)
    return [(task, np.array([row[figure] for row in ordered if row["task"] == task])) for task in tasks]


def interval(groups: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """95 % of the mean over all, by drawing again within each group."""
    rng = np.random.default_rng(0)
    sums = [values[rng.integers(0, len(values), (_DRAWS, len(values)))].sum(axis=1) for values in groups]
    low, high = np.quantile(np.sum(sums, axis=0) / sum(map(len, groups)), [0.025, 0.975])
    return float(low), float(high)


def show(rows: Sequence[Row]) -> None:
    """Both tables on the screen."""
    print("pruner                orders  " + "".join(f"{f'regret at {b:.0%}':28}" for b in BUDGETS), end="")
    print("winner stopped  spent   fits s  judging s")
    for row in table(rows):
        cells = [
            f"{row[f'regret_{b:g}']:.3f} ({' to '.join(f'{x:.3f}' for x in row[f'interval_{b:g}'])})" for b in BUDGETS
        ]
        print(f"{row['pruner']:20}  {row['orders']:6d}  " + "".join(f"{cell:28}" for cell in cells), end="")
        print(
            f"{row['winner_stopped']:14.3f}  {row['spent']:.3f}  {row['fit_seconds']:6.2f}  {row['judge_seconds']:9.2f}"
        )
    charged = [row for row in rows if row.get("charged_0.25") is not None]
    if charged:
        print("\nwhere the time of a trial is known, our fits and judging charged:")
        for row in table(charged):
            print(f"{row['pruner']:20}  " + "  ".join(f"{b:.0%}: {row[f'charged_{b:g}']:.3f}" for b in BUDGETS))
    if not any(row["pruner"] == OURS for row in rows):
        return
    for budget in BUDGETS:
        found = levels(rows, budget)
        print(f"\nbest or level at {budget:.0%}: {sum(row['level'] for row in found)} of {len(found)} tasks")
        for row in found:
            print(
                f"  {row['task']:45} ours {row['ours']:.3f}, {row['best']} {row['theirs']:.3f}, difference "
                f"{row['low']:+.3f} to {row['high']:+.3f}{', level' if row['level'] else ''}"
            )
