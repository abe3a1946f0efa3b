"""The selection test in words, and the paper's ranks beside ours.

Comes in: kept data. Goes out: Markdown.
"""

from collections.abc import Sequence
from typing import Any

from lodestar.evaluate.evaluation import OURS
from lodestar_bench.paper import theirs
from lodestar_bench.paper.item import Made
from lodestar_bench.paper.wording import in_order, listed, number, percent, result, table

FIRST = "first epoch"


def words(made: Sequence[Made]) -> str:
    """Gist, table, remarks."""
    return "\n\n".join(
        [
            " ".join(_gist(one) for one in made),
            _table(made),
            "*learned from*: the runs the forecaster was fitted to, which is the paper's test; *never seen*: those the "
            "fit held out, and final runs of the four shapes with fresh seeds. The rank counts runs with a better last "
            "metric; runs with the same one share it. *its recipe*: the rank of its schedule and rate by their mean.",
            " ".join(_theirs(one) for one in made),
        ]
    )


def _gist(one: Made) -> str:
    row, fresh = pick(one, "learned from"), pick(one, "never seen")
    gap = "the best there was" if row["rank"] == 1 else f"the best had {result(one.metric_name, row['best_final'])}"
    return (
        f"**{one.task}**: from the first epoch ({percent(row['part'], 2)} of the run) it picks the "
        f"{in_order(row['rank'])} best of {row['count']} runs ({result(one.metric_name, row['final'])}; {gap}), and of "
        f"{fresh['count']} it never saw the {in_order(fresh['rank'])}."
    )


def pick(one: Made, runs: str, seen: str = FIRST, forecaster: str = OURS) -> dict[str, Any]:
    """One line of the sheet."""
    return next(one["picks"].where(runs=runs, seen=seen, forecaster=forecaster).rows())


def _table(made: Sequence[Made]) -> str:
    heads = ("task", "runs", "seen", "picked by", ">rank", ">its recipe", ">its final", ">best final", ">Spearman")
    rows = [
        [
            one.task,
            row["runs"],
            f"{row['seen']} ({percent(row['part'], 2)})" if row["seen"] == FIRST else row["seen"],
            f"**{row['forecaster']}**" if row["forecaster"] == OURS else row["forecaster"],
            f"{row['rank']} of {row['count']}",
            f"{row['recipe_rank']} of {row['recipes']}",
            result(one.metric_name, row["final"]),
            result(one.metric_name, row["best_final"]),
            number(row["spearman"], 2),
        ]
        for one in made
        for row in one["picks"].rows()
        if row["forecaster"] == OURS or row["seen"] == FIRST
    ]
    return table(heads, rows)


def _theirs(one: Made) -> str:
    said = theirs.SELECTION.get(one.task)
    row = pick(one, "learned from")
    recipe = f"its schedule and rate are the {in_order(row['recipe_rank'])} of {row['recipes']}"
    right = "as in the paper" if row["recipe_rank"] == 1 else "where the paper's were the best on every task"
    if said is None:
        ranks = listed([in_order(rank) for rank, _, _ in theirs.SELECTION.values()])
        return (
            f"{one.task} is not among the paper's tasks, where the pick was the {ranks} best of 100; {recipe}, {right}."
        )
    rank, final, best = said
    return (
        f"On {one.task} the paper's forecaster picked the {in_order(rank)} best of 100 ({final}, the best {best}) from "
        f"1/60 of a longer run; ours, from the first epoch of a short one, the {in_order(row['rank'])}; {recipe}, "
        f"{right}."
    )
