"""Published tables on one page: every method on every task, by optimizer and budget, the nearest to the best first.

Comes in: a folder with a folder for each block and budget, in which `lodestar bench merit -o` left its `merit.json`.
Goes out: a page in Markdown, every figure read from those files or computed from them. No results are read elsewhere.

python -m lodestar_bench.studies.verdict packages/lodestar-bench/results > packages/lodestar-bench/results/README.md
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar_bench._errors import BenchError
from lodestar_bench.methods import method
from lodestar_bench.statistics import Spread, spread

ABOUT = (
    "Made by `python -m lodestar_bench.studies.verdict packages/lodestar-bench/results` from the `merit.json` of each "
    "folder here. Test metric at the point of best validation, mean ± standard deviation over fresh seeds; accuracies "
    "in per cent. Regret: how far a method's mean is below that of the best method of the same task, in units of what "
    "one seed differs from the next; its mean and its worst over the tasks of a table. Tests of significance, "
    "intervals and profiles: the page of each folder. Every run, and what it cost: the folder of each task in it."
)
Json = Mapping[str, Any]


def run(folder: str = "packages/lodestar-bench/results") -> str:
    """The page."""
    paths = sorted(Path(folder).glob("*/merit.json"))
    if not paths:
        raise BenchError(f"there is no merit.json in the folders of {folder}. Fix: lodestar bench merit OUT -o FOLDER")
    parts = [part for path in paths for part in _group(path.parent.name, json.loads(path.read_text()))]
    return "\n\n".join(["# All tables", ABOUT, *parts]) + "\n"


def _group(name: str, merit: Json) -> list[str]:
    contests = merit["results"]
    heads = ["method", "mean regret", "worst", *(f"{one['name']}{_unit(one)}" for one in contests)]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *(_line(row, contests) for row in merit["rows"])]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return [f"## [{name}]({name}/merit.md)", merit["about"], table, _worst(merit)]


def _line(row: Json, contests: Sequence[Json]) -> list[str]:
    name = row["method"]
    title = f"**{name}**" if method(name).group == "ours" else name
    regrets = [f"{row[key]['value']:.2f}" for key in ("mean", "worst")]
    return [title, *regrets, *(_told(_spread(one, name), one) for one in contests)]


def _worst(merit: Json) -> str:
    """The asked method's worst seed beside that of the best method that is not ours."""
    asked, kept = merit["asked"], 0
    for one in merit["results"]:
        others = [row["method"] for row in merit["rows"] if method(row["method"]).group != "ours"]
        best = max(others, key=lambda name: _sign(one) * _spread(one, name).mean)
        kept += min(_signed(one, asked)) >= min(_signed(one, best))
    return (
        f"The worst seed of {asked} is not below that of the best method that is not Lodestar's on {kept} of "
        f"{len(merit['contests'])} tasks."
    )


def _spread(contest: Json, name: str) -> Spread:
    return spread(list(contest["tests"][name].values()))


def _signed(contest: Json, name: str) -> list[float]:
    return [_sign(contest) * value for value in contest["tests"][name].values()]


def _sign(contest: Json) -> float:
    return 1.0 if contest["direction"] == "max" else -1.0


def _unit(contest: Json) -> str:
    return "" if _per_cent(contest) else f", {contest['metric_name']}"


def _per_cent(contest: Json) -> bool:
    return "accuracy" in contest["metric_name"].lower()


def _told(found: Spread, contest: Json) -> str:
    if _per_cent(contest):
        return f"{100 * found.mean:.2f} ± {100 * found.std:.2f}"
    return f"{found.mean:.4g} ± {found.std:.2g}"


if __name__ == "__main__":
    print(run(*sys.argv[1:]), end="")
