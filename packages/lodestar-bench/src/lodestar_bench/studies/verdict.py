"""Published tables in one: Lodestar against the paper's own baselines and against all, task by task.

Comes in: a folder of reports that `lodestar bench report` wrote. Goes out: a page in Markdown, every figure computed
from the reports' `finals.csv`: mean and standard deviation over seeds, worst seed, Welch's p (two-sided) against the
best of the paper's list and the best of all, and how many standard errors (of the two means) ours lies above it.

python -m lodestar_bench.studies.verdict packages/lodestar-bench/results > packages/lodestar-bench/results/README.md
"""

import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from lodestar_bench.methods import method
from lodestar_bench.report.words import p_value
from lodestar_bench.statistics import spread, welch

OURS, BESIDE = "lodestar", ("lodestar-open", "averaged", "lodestar-plain", "lodestar-paper")
HEAD = (
    "task", "Lodestar", "worst", "its first plan replayed", "averaged weights alone", "steering alone",
    "paper's preset", "best of the paper's list", "p", "best of all", "worst of that", "p", "above it by",
)  # fmt: skip
ABOUT = (
    "Made by `python -m lodestar_bench.studies.verdict packages/lodestar-bench/results` from the `finals.csv` of each "
    "folder here. Test accuracy in per cent at the point of best validation, mean ± standard deviation over fresh "
    "seeds (in brackets: how many, where not 20). p: Welch's two-sided t-test of Lodestar's default preset against "
    "that method. The paper's list: constant, cosine, OneCycle, step, hypergradient, schedule-free, both RL "
    "controllers. Above it by: in standard errors of the difference to the best of all. Averaged weights alone: the "
    "optimizer that Lodestar steers, at a constant rate tuned with 25 runs. Steering alone: the default preset on the "
    "recipe's own optimizer."
)
Finals = dict[str, list[float]]


def run(folder: str = "packages/lodestar-bench/results") -> str:
    """The page."""
    reports = sorted(Path(folder).glob("*/finals.csv"))
    lines = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *(_line(path) for path in reports)]
    return "\n".join(
        [
            "# All tables in one",
            "",
            ABOUT,
            "",
            *("| " + " | ".join(line) + " |" for line in lines),
            "",
        ]
    )


def _line(path: Path) -> Sequence[str]:
    finals = _read(path)
    others = {name: each for name, each in finals.items() if method(name).group != "ours"}
    papers = {name: each for name, each in others.items() if method(name).group == "paper"}
    ours, (theirs, all_of) = finals[OURS], (_best(papers), _best(others))
    gap = spread(ours).mean - spread(finals[all_of]).mean
    error = math.hypot(*(spread(each).std / math.sqrt(len(each)) for each in (ours, finals[all_of])))
    return (
        f"[{path.parent.name.removesuffix('-cpu')}]({path.parent.name}/README.md)",
        f"**{_told(ours)}**",
        f"{100 * min(ours):.2f}",
        *(_told(finals[name]) if name in finals else "–" for name in BESIDE),
        f"{theirs} {_told(finals[theirs])}",
        p_value(welch(ours, finals[theirs]).p),
        f"{all_of} {_told(finals[all_of])}",
        f"{100 * min(finals[all_of]):.2f}",
        p_value(welch(ours, finals[all_of]).p),
        f"{gap / error:+.1f}",
    )


def _read(path: Path) -> Finals:
    found: Finals = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["method"], []).append(float(row["counted_as"]))
    return found


def _best(finals: Finals) -> str:
    return max(finals, key=lambda name: spread(finals[name]).mean)


def _told(each: Sequence[float]) -> str:
    found = spread(each)
    count = "" if found.count == 20 else f" ({found.count})"
    return f"{100 * found.mean:.2f} ± {100 * found.std:.2f}{count}"


if __name__ == "__main__":
    print(run(*sys.argv[1:]), end="")
